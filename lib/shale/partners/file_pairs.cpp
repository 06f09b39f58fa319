#include "shale/partners/file_pairs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "shale/arrays/array_headers.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/image/probe.hpp"

// Files and samples are sorted alike, so one pass over both joins them.

namespace shale {
namespace {

constexpr std::size_t kMostFields = 64, kMostPartners = 256;

char lower_case(char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

std::string folder_below(const std::string& root, std::string_view folder) {
  return folder.empty() ? root : join_path(root, folder);
}

Error two_files(const std::string& root, std::string_view folder, std::string_view one,
                std::string_view other) {
  return Error(Code::bad_content, "is a partner of the same images as {}", printable(other))
      .at(join_path(folder_below(root, folder), one))
      .hint("remove or rename one of the two, or pass --pairs off");
}

Error two_of_one_name(const std::string& root, std::string_view folder, std::string_view one,
                      std::string_view other) {
  return Error(Code::bad_content, "has the same name before the first dot as {}", printable(other))
      .at(join_path(folder_below(root, folder), one))
      .hint("remove or rename one of the two: files of several folders are joined by that name");
}

Error one_field(const std::string& root, std::string_view field, std::string_view one,
                std::string_view other) {
  return Error(Code::bad_content, "becomes the field '{}', and so does {}", printable(field),
               printable(other))
      .at(join_path(root, one))
      .hint("rename the files with one of the two suffixes, or pass --pairs off");
}

Error no_field_name(const std::string& file, std::string_view suffix) {
  return Error(Code::bad_content, "its suffix '{}' cannot be the name of a field",
               printable(suffix))
      .at(file)
      .hint("rename the files with this suffix, or pass --pairs off");
}

// What partners of a suffix were before there was JSON, and the type of sets that say no more.
Field usual_field(const PairField& field) {
  const bool is_text =
      field.pattern.empty() ? field.suffix == "txt" : field.pattern.ends_with(".txt");
  const bool is_json = field.pattern.ends_with(".json");
  return {.name = {}, .kind = is_text || is_json ? Kind::text : Kind::bytes, .is_json = is_json};
}

// A suffix, or a name and a pattern.
std::optional<PairField> field_of_word(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return pair_field_of(word);
  PairField field;
  field.name = field.suffix = word.substr(0, equals);
  field.pattern = word.substr(equals + 1);
  return field;
}

}  // namespace

// Numbers of no axes are arrays, too: they are read from files.
Field type_of_partners(std::string_view text) {
  Field type = parse_field_type(text);
  const bool is_number = type.kind == Kind::integer || type.kind == Kind::real;
  if (is_number && text.find('(') != std::string_view::npos) {
    type.dtype = dtype_of_column(type);
    type.kind = Kind::tensor;
  }
  if (type.kind != Kind::bytes && type.kind != Kind::text && type.kind != Kind::tensor)
    throw Error(Code::damaged, "partners cannot be '{}'", printable(text));
  return type;
}

Field PairField::as_field() const {
  return {.name = name,
          .kind = kind,
          .dtype = dtype,
          .shape = shape,
          .is_optional = is_optional,
          .is_json = is_json};
}

Field NamedFolder::as_field() const {
  Field made = type.value_or(Field{.name = {}, .kind = Kind::bytes});
  made.name = field;
  made.is_optional = is_optional;
  return made;
}

std::string names_text(const std::vector<NamedFolder>& folders) {
  std::string text;
  for (const NamedFolder& folder : folders) {
    text.append(text.empty() ? "" : ",").append(folder.field);
    const Field field = folder.as_field();
    if (field.kind == Kind::tensor)
      text.append(":").append(field_type_text(field));
    else if (folder.is_optional)
      text.append("?");
  }
  return text;
}

std::vector<NamedFolder> with_recorded_types(std::vector<NamedFolder> folders,
                                             std::string_view names) {
  const std::vector<TypedWord> words = typed_words(names);
  for (std::size_t i = 1; i < folders.size(); ++i) {
    folders[i].type = Field{.name = {}, .kind = Kind::bytes};
    const auto word = std::ranges::find(words, folders[i].field, &TypedWord::name);
    if (word != words.end() && !word->type.empty()) folders[i].type = type_of_partners(word->type);
  }
  return folders;
}

std::vector<TypedWord> typed_words(std::string_view text) {
  std::vector<TypedWord> words;
  while (!text.empty()) {
    std::size_t end = std::min(text.find_first_of(",:"), text.size());
    TypedWord& word =
        words.emplace_back(TypedWord{.name = std::string(text.substr(0, end)), .type = {}});
    // Shapes have commas.
    const std::size_t colon = end;
    for (int depth = 0; end < text.size() && (text[end] != ',' || depth > 0); ++end)
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (colon < end) word.type = text.substr(colon + 1, end - colon - 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string_view pair_name_of(std::string_view name) { return name.substr(0, name.find('.')); }

std::string pair_suffix_of(std::string_view name) {
  std::string suffix;
  for (const char c : name.substr(std::min(pair_name_of(name).size() + 1, name.size())))
    suffix += lower_case(c);
  return suffix;
}

std::optional<PairField> pair_field_of(std::string_view suffix) {
  PairField field;
  for (const char c : suffix) field.suffix += lower_case(c);
  field.name = field.suffix;
  std::ranges::replace(field.name, '.', '_');
  constexpr std::array<std::string_view, 3> kTaken = {"image", "label", "frames"};
  if (is_reserved_name(field.name) || std::ranges::find(kTaken, field.name) != kTaken.end())
    field.name += "_file";
  field.is_json = field.suffix == "json" || field.suffix.ends_with(".json");
  if (field.suffix == "txt" || field.is_json) field.kind = Kind::text;
  // The suffixes of a set are in its manifest, with commas and colons.
  if (field.suffix.empty() || field.suffix.find_first_of(",:") != std::string::npos)
    return std::nullopt;
  try {
    validate_schema({.fields = {{.name = field.name, .kind = field.kind}}});
  } catch (const Error&) {
    return std::nullopt;
  }
  return field;
}

std::vector<std::string> suffixes_in(std::string_view text) {
  std::vector<std::string> suffixes;
  while (!text.empty()) {
    suffixes.emplace_back(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(suffixes.back().size() + 1, text.size()));
  }
  return suffixes;
}

std::vector<PairField> pair_fields_of(std::string_view text) {
  std::vector<PairField> fields;
  bool is_sample = has_pair_patterns(text);
  for (const TypedWord& word : typed_words(text)) {
    if (std::exchange(is_sample, false)) continue;
    std::optional<PairField> field = field_of_word(word.name);
    if (!field) continue;
    const Field type = word.type.empty() ? usual_field(*field) : type_of_partners(word.type);
    field->kind = type.kind;
    field->dtype = type.dtype;
    field->shape = type.shape;
    field->is_json = type.is_json;
    field->is_optional = type.is_optional;
    fields.push_back(std::move(*field));
  }
  return fields;
}

std::string suffixes_text(const std::vector<PairField>& fields) {
  std::string text;
  for (const PairField& field : fields) {
    text.append(text.empty() ? "" : ",").append(field.suffix);
    if (!field.pattern.empty()) text.append("=").append(field.pattern);
    const std::string type = field_type_text(field.as_field());
    if (type != field_type_text(usual_field(field))) text.append(":").append(type);
  }
  return text;
}

// The files of one folder and name, and the samples: those one after the other, there may be any
// number.
class FilePairs::Groups {
 public:
  Groups(SortedTable<PairFile>& files, SortedTable<PairSample>& samples)
      : files_(files), samples_(samples) {
    files_.rewind();
    samples_.rewind();
  }

  // The files of the next name that has any, or that has samples; false after the last. `surplus`
  // is told of those that are too many to be partners.
  bool next(const Unused& surplus = {}) {
    while (is_of_name(samples_.row())) samples_.step();
    const PairFile* file = files_.row();
    const PairSample* const sample = samples_.row();
    if (file == nullptr && sample == nullptr) return false;
    const bool begins_with_sample =
        file == nullptr || (sample != nullptr && std::tie(sample->folder, sample->name) <
                                                     std::tie(file->folder, file->name));
    folder_ = begins_with_sample ? sample->folder : file->folder;
    name_ = begins_with_sample ? sample->name : file->name;
    has_begun_ = true;
    partners.clear();
    for (; is_of_name(file); file = files_.row()) {
      if (partners.size() < kMostPartners) {
        partners.push_back(partner_of(*file));
      } else if (surplus) {
        surplus({.folder = folder_,
                 .file = file->file,
                 .suffix = file->suffix,
                 .offset = file->offset,
                 .has_name_of_a_sample = is_of_name(samples_.row())});
      }
      files_.step();
    }
    return true;
  }

  // The number and the suffix of the next sample of this name.
  std::optional<std::pair<std::uint64_t, std::string>> next_of_name() {
    const PairSample* const sample = samples_.row();
    if (!is_of_name(sample)) return std::nullopt;
    std::pair<std::uint64_t, std::string> found{sample->number, sample->suffix};
    samples_.step();
    return found;
  }

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  std::vector<Partner> partners;  // sorted by suffix, then by name; the first ones

 private:
  template <class Row>
  bool is_of_name(const Row* row) const {
    return has_begun_ && row != nullptr && row->folder == folder_ && row->name == name_;
  }

  [[nodiscard]] Partner partner_of(const PairFile& file) const {
    // What of its name is not shared. Patterns know folders themselves.
    std::string_view rest = file.file.substr(std::min(name_.size(), file.file.size()));
    rest.remove_prefix(rest.rfind('/') + 1);
    return {.suffix = std::string(file.suffix),
            .file = std::string(file.file),
            .listed = {.suffix = std::string(rest),
                       .bytes = file.bytes,
                       .modified_ns = file.modified_ns,
                       .offset = file.offset}};
  }

  SortedTable<PairFile>& files_;
  SortedTable<PairSample>& samples_;
  std::string folder_, name_;
  bool has_begun_ = false;
};

std::string note_on_pairs(const std::vector<PairField>& fields, std::string_view one) {
  std::string text;
  for (const PairField& field : fields) {
    const bool is_array = field.kind == Kind::tensor;
    text += fmt::format("{}{} (.{}{}{}{}{})", text.empty() ? "" : ", ", printable(field.name),
                        printable(field.suffix), is_array ? ": " : "",
                        is_array ? array_text(field.dtype, field.shape) : "",
                        field.share.empty() ? "" : ", for ", field.share);
  }
  return fmt::format(
      "files with the same name as each {} become fields of its sample: {}; pass --pairs off to "
      "leave them out",
      one, text);
}

std::string note_on_partial_pairs(std::string_view partial, std::string_view one) {
  return fmt::format(
      "files with the names of some {}s are left out: {}; pass --pairs on to take them", one,
      partial);
}

FilePairs::FilePairs(const std::string& scratch_folder, std::uint64_t memory_bytes,
                     Stop stop_if_asked)
    : stop_if_asked_(std::move(stop_if_asked)),
      files_(scratch_folder, memory_bytes / 3),
      samples_(scratch_folder, memory_bytes / 3),
      matched_(scratch_folder, memory_bytes / 3) {}

void FilePairs::add_file(std::string_view folder, std::string_view name, std::string_view suffix,
                         const WalkedFile& file) {
  files_.add({.folder = folder,
              .name = name,
              .suffix = suffix,
              .file = file.name,
              .bytes = file.bytes,
              .modified_ns = file.modified_ns,
              .offset = file.offset});
}

void FilePairs::add_sample(std::string_view folder, std::string_view name,
                           std::string_view suffix) {
  samples_.add({.folder = folder, .name = name, .number = sample_count_++, .suffix = suffix});
}

// The suffixes that samples have partners with.
struct FilePairs::Candidates {
  struct Suffix {
    std::uint64_t samples = 0;
    std::string file;  // the first one
  };
  std::map<std::string, Suffix> suffixes;
  std::uint64_t samples = 0;
  bool has_shared_names = false;

  // `is_shared`: the name is that of more than one sample.
  void add(const std::vector<Partner>& partners, std::string_view folder,
           std::uint64_t samples_here, bool is_shared, bool takes_ambiguous) {
    samples += samples_here;
    has_shared_names = has_shared_names || is_shared;
    for (std::size_t i = 0; i < partners.size(); ++i) {
      const std::string& suffix = partners[i].suffix;
      if (i > 0 && partners[i - 1].suffix == suffix) continue;
      const bool is_ambiguous = i + 1 < partners.size() && partners[i + 1].suffix == suffix;
      // What all samples have, the first ones have.
      const bool is_late = samples > samples_here && suffixes.size() > kMostFields;
      if ((is_ambiguous && !takes_ambiguous) || (is_late && !suffixes.contains(suffix))) continue;
      Suffix& one = suffixes[suffix];
      if (one.samples == 0) one.file = join_path(folder, partners[i].file);
      one.samples += samples_here;
    }
  }
};

// Under `automatic` what most samples have.
void FilePairs::choose_suffixes(PairPolicy policy, const std::string& root) {
  Candidates candidates;
  Groups groups(files_, samples_);
  while (groups.next()) {
    stop_if_asked_();
    std::set<std::string> suffixes;
    std::uint64_t samples = 0;
    bool is_shared = false;
    while (const auto sample = groups.next_of_name()) {
      ++samples;
      // "frame.0001.jpg" and "frame.0002.jpg": what they share is not the name of one sample.
      is_shared =
          is_shared || (suffixes.size() < kMostPartners && !suffixes.insert(sample->second).second);
    }
    if (samples > 0)
      candidates.add(groups.partners, groups.folder(), samples, is_shared, takes_every(policy));
  }
  take_fields(candidates, policy, root);
}

void FilePairs::take_fields(const Candidates& candidates, PairPolicy policy,
                            const std::string& root) {
  const bool takes_all = takes_every(policy);
  if (!takes_all && candidates.has_shared_names) return;
  if (takes_all && candidates.suffixes.size() > kMostFields) {
    throw Error(Code::limit, "images have partners of more than {} suffixes", kMostFields)
        .at(root)
        .hint(
            "partners share the part of the name before the first dot; rename the files, or pass "
            "--pairs off");
  }
  std::map<std::string, std::string> files;  // by the field that they become
  for (const auto& [suffix, found] : candidates.suffixes) {
    if (!takes_all && found.samples <= candidates.samples / 2) {
      partial_.emplace_back(suffix, found.samples);
      continue;
    }
    std::optional<PairField> field = pair_field_of(suffix);
    if (!field && takes_all) throw no_field_name(join_path(root, found.file), suffix);
    if (!field || fields_.size() == kMostFields) continue;
    const auto [other, is_new] = files.emplace(field->name, found.file);
    if (!is_new) throw one_field(root, field->name, found.file, other->second);
    if (policy == PairPolicy::bytes) {
      field->kind = Kind::bytes;
      field->is_json = false;
    }
    field->is_optional = found.samples < candidates.samples;
    if (field->is_optional)
      field->share =
          fmt::format("{} of {}", format_count(found.samples), format_count(candidates.samples));
    fields_.push_back(std::move(*field));
  }
  std::ranges::stable_sort(partial_, std::ranges::greater(),
                           [](const auto& one) { return one.second; });
}

std::string FilePairs::partial() const {
  constexpr std::size_t kMostShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostShown, partial_.size()); ++i) {
    text += fmt::format("{}{} ({} of {})", i == 0 ? "" : ", ", printable(partial_[i].first),
                        partial_[i].second, sample_count_);
  }
  return partial_.size() > kMostShown ? text + " ..." : text;
}

void FilePairs::match_all(const Unused& unused, PairPolicy policy, const std::string& root) {
  files_.finish();
  samples_.finish();
  choose_suffixes(policy, root);
  join(unused, root);
}

void FilePairs::match_fields(const Unused& unused, std::vector<PairField> fields,
                             const std::string& root) {
  files_.finish();
  samples_.finish();
  fields_ = std::move(fields);
  join(unused, root);
}

void FilePairs::match_folders(const Unused& unused, const std::vector<NamedFolder>& folders) {
  files_.finish();
  samples_.finish();
  are_folders_ = true;
  for (std::size_t i = 1; i < folders.size(); ++i) {
    fields_.push_back({.name = folders[i].field,
                       .suffix = folders[i].field,
                       .kind = Kind::bytes,
                       .root = folders[i].root,
                       .is_optional = folders[i].is_optional});
  }
  join(unused, folders.front().root);
  for (std::size_t i = 0; sample_count_ > 0 && i < fields_.size(); ++i) {
    if (matches_[i] > 0) continue;
    throw Error(Code::bad_content, "no file in it has the name of a file in {}",
                printable(folders.front().root))
        .at(fields_[i].root)
        .hint(
            "files are joined by their folder and their name before the first dot: cat/1.jpg of "
            "the one with cat/1.png of the other");
  }
}

void FilePairs::set_array(std::size_t field, const Field& type) {
  fields_[field].kind = type.kind;
  fields_[field].dtype = type.dtype;
  fields_[field].shape = type.shape;
}

void FilePairs::widen(std::string_view standing) {
  for (const TypedWord& word : typed_words(standing)) {
    const auto field = std::ranges::find(fields_, word.name, &PairField::suffix);
    if (field == fields_.end() || word.type.empty()) continue;
    const Field stored = type_of_partners(word.type);
    const bool is_wider = field->kind == stored.kind && field->is_json == stored.is_json &&
                          field->dtype == stored.dtype && shape_fits(field->shape, stored.shape);
    if (!is_wider) continue;
    field->shape = stored.shape;
    field->is_optional |= stored.is_optional;
  }
}

bool FilePairs::has_only_arrays(std::size_t field) const {
  return matches_[field] > 0 && no_arrays_[field] == 0;
}

std::string FilePairs::image_folders() const {
  std::string names;
  for (std::size_t i = 0; are_folders_ && i < fields_.size(); ++i) {
    if (matches_[i] == 0 || no_images_[i] > 0) continue;
    names.append(names.empty() ? "" : ",").append(fields_[i].name);
  }
  return names;
}

void FilePairs::join(const Unused& unused, const std::string& root) {
  std::vector<const Partner*> of_field(fields_.size());
  matches_.assign(fields_.size(), 0);
  no_images_ = no_arrays_ = matches_;
  Groups groups(files_, samples_);
  while (groups.next(unused)) {
    stop_if_asked_();
    std::ranges::fill(of_field, nullptr);
    std::vector<const Partner*> twice(fields_.size());
    for (const Partner& partner : groups.partners) {
      const auto field = std::ranges::find(fields_, partner.suffix, &PairField::suffix);
      if (field == fields_.end()) continue;
      const auto at = static_cast<std::size_t>(field - fields_.begin());
      (of_field[at] == nullptr ? of_field : twice)[at] = &partner;
    }
    std::optional<std::string> first;  // what its name has behind the shared part
    while (const auto sample = groups.next_of_name()) {
      if (first && are_folders_)
        throw two_of_one_name(root, groups.folder(), groups.name() + sample->second,
                              groups.name() + *first);
      first = sample->second;
      partners_.clear();
      bool is_complete = true;
      for (std::size_t i = 0; i < fields_.size(); ++i) {
        if (twice[i] != nullptr) {
          if (are_folders_)
            throw two_of_one_name(fields_[i].root, groups.folder(), twice[i]->file,
                                  of_field[i]->file);
          throw two_files(root, groups.folder(), twice[i]->file, of_field[i]->file);
        }
        const ListedPartner listed = of_field[i] == nullptr ? ListedPartner() : of_field[i]->listed;
        is_complete = is_complete && (of_field[i] != nullptr || fields_[i].is_optional);
        matches_[i] += of_field[i] != nullptr ? 1 : 0;
        no_images_[i] += of_field[i] != nullptr && !has_image_suffix(of_field[i]->file) ? 1 : 0;
        no_arrays_[i] +=
            of_field[i] != nullptr && !is_array_suffix(pair_suffix_of(of_field[i]->file)) ? 1 : 0;
        append_listed_partner(partners_, listed);
        modified_ns_ = std::max(modified_ns_, listed.modified_ns);
      }
      incomplete_ += is_complete ? 0 : 1;
      matched_.add({.number = sample->first, .partners = partners_});
    }
    for (const Partner& partner : groups.partners) {
      const bool is_used = first && std::ranges::find(of_field, &partner) != of_field.end();
      if (is_used) continue;
      unused({.folder = groups.folder(),
              .file = partner.file,
              .suffix = partner.suffix,
              .offset = partner.listed.offset,
              .has_name_of_a_sample = first.has_value()});
    }
  }
  matched_.finish();
  matched_.rewind();
}

std::vector<ListedPartner> FilePairs::next() {
  std::vector<ListedPartner> partners;
  const std::optional<PairMatch> match = matched_.next();
  if (!match) return partners;
  ByteReader from(as_bytes(match->partners));
  for (std::size_t i = 0; i < fields_.size(); ++i) partners.push_back(read_listed_partner(from));
  return partners;
}

}  // namespace shale
