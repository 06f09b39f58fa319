#include "shale/datasets/joined_files.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/common_field.hpp"
#include "shale/data/field_name.hpp"
#include "shale/data/field_type.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/io/file_part.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/io/write_fully.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {
namespace {

constexpr std::string_view kLabel = "label", kDescriptors = "/proc/self/fd/";

std::shared_ptr<const NamelessFile> nameless_file() try {
  return std::make_shared<const NamelessFile>(temporary_folder());
} catch (const Error&) {
  return std::make_shared<const NamelessFile>(NamelessFile::InMemory{"indexes of a set"});
}

std::string full_path(const std::string& folder, const std::string& name) {
  return std::filesystem::absolute(join_path(folder, name)).string();
}

// The fields of both, in the order in which they come first.
Schema common_schema(const Schema& ours, const Schema& theirs, const SetMember& member,
                     const std::string& first_name, bool are_lists) {
  Schema all = ours;
  for (Field& field : all.fields) {
    const std::optional<std::size_t> there = theirs.find(field.name);
    if (!there) {
      field.is_optional = true;
      continue;
    }
    const Field& other = theirs.fields[*there];
    Field both = field;
    both.is_optional = field.is_optional || other.is_optional;
    if (!(are_lists ? widen_to_lists(both, other) : widen(both, other))) {
      throw Error(Code::unsupported, "has {}, but the files before it, such as '{}', have {}",
                  field_text(other), printable(first_name), field_text(field))
          .at(member.path);
    }
    field = std::move(both);
  }
  for (const Field& field : theirs.fields) {
    if (ours.find(field.name)) continue;
    all.fields.push_back(field);
    all.fields.back().is_optional = true;
  }
  return all;
}

// What some file has, but not in place.
bool is_unlocated(const LeftOutList& left_out, const std::string& field) {
  constexpr std::string_view kReasons[] = {"varying_length", "several_integers", "not_packed",
                                           "mixed_types"};
  return std::ranges::any_of(left_out.entries, [&](const LeftOut& one) {
    return std::ranges::find(kReasons, one.reason) != std::end(kReasons) &&
           field_name_of(one.name) == field;
  });
}

// Where rows are found without an index all have the fields of the first.
void refuse_other_fields(const Schema& schema, const Schema& theirs, const SetMember& member,
                         const std::string& first_name) {
  if (schema.fields == theirs.fields) return;
  const std::string first = fmt::format("'{}', the first file of the set,", printable(first_name));
  std::string fact;
  for (const Field& field : theirs.fields) {
    const auto place = schema.find(field.name);
    if (place && schema.fields[*place] == field) continue;
    fact = fmt::format("has {}, but {} has {}", field_text(field), first,
                       place ? field_text(schema.fields[*place]) : "no such field");
    break;
  }
  for (const Field& field : schema.fields) {
    if (fact.empty() && !theirs.find(field.name))
      fact = fmt::format("has no field '{}', but {} has {}", printable(field.name), first,
                         field_text(field));
  }
  if (fact.empty()) fact = fmt::format("has the fields of {} in another order", first);
  const bool has_none = std::ranges::none_of(
      theirs.fields, [&](const Field& field) { return schema.find(field.name).has_value(); });
  std::string same;
  for (const Field& field : theirs.fields) {
    if (std::ranges::find(schema.fields, field) != schema.fields.end())
      same += (same.empty() ? "" : ",") + field.name;
  }
  throw Error(Code::unsupported, "{}", fact)
      .at(member.path)
      .hint(has_none ? fmt::format("to join files row by row, name them: {0}={1} {2}={3} (Python: "
                                   "{{\"{0}\": \"{1}\", \"{2}\": \"{3}\"}})",
                                   schema.fields[0].name, printable(first_name),
                                   theirs.fields[0].name, printable(member.name))
            : same.empty()
                ? std::string("the files of a set must have the same datasets, types and shapes; "
                              "make one sample of each file with --parse samples")
                : fmt::format("take the fields that are the same in both with 'shale convert': "
                              "--fields {}; or make one sample of each file with --parse samples",
                              shell_word(same)));
}

}  // namespace

IndexedAs columns_of_index(const Manifest& manifest) {
  return {manifest.schema, manifest.layout.has_checksums, fields_beside(manifest)};
}

void ask_for(ForeignRequest& indexing, const IndexedAs& as) {
  indexing.schema = &as.schema;
  indexing.beside = as.beside;
  indexing.drops_keys = !as.schema.has_keys;
  indexing.with_checksums = as.has_checksums;
}

JoinedFiles::JoinedFiles(std::string place, const std::vector<std::string>& fields)
    : place_(std::move(place)),
      takes_labels_(fields.empty() || std::ranges::find(fields, kLabel) != fields.end()) {}

bool JoinedFiles::has_fitting_rows(const OpenedDataset& file) {
  return file.manifest.layout.rows.has_strides() || file.manifest.layout.rows.has_index();
}

void JoinedFiles::refuse_other_kind(const SetMember& member, const Manifest& manifest) const {
  const ShardLayout &ours = manifest_.layout, &theirs = manifest.layout;
  std::string found, expected;
  const auto compare = [&](std::string_view one, std::string_view other) {
    if (one == other || !found.empty()) return;
    expected = one;
    found = other;
  };
  compare(manifest_.format, manifest.format);
  compare(name_of(ours.dialect), name_of(theirs.dialect));
  if (ours.dialect == Dialect::keys) compare(ours.keys, theirs.keys);
  compare(ours.database, theirs.database);
  if (!are_keys_dropped_)
    compare(ours.has_keys ? "with keys" : "without keys",
            theirs.has_keys ? "with keys" : "without keys");
  if (found.empty()) return;
  throw Error(Code::unsupported, "is of another kind than '{}', the first file of the set",
              printable(first_name_))
      .at(member.path)
      .because(fmt::format("found {}, expected {}", found, expected))
      .hint("convert the files of each kind on their own");
}

// Keys that not all files have are none: the key of a row is its number.
void JoinedFiles::drop_keys(const Manifest& manifest) {
  const bool differ = manifest_.layout.has_keys != manifest.layout.has_keys;
  const bool are_arrays = format_of(manifest).list_contents != nullptr;  // theirs are another table
  if (are_keys_dropped_ || !differ || are_arrays) return;
  are_keys_dropped_ = true;
  manifest_.layout.has_keys = manifest_.schema.has_keys = false;
  manifest_.layout.key_part = 0;
  // The column that has them in some files may be a field of the others, which all have then.
  const Schema &with = manifest.layout.has_keys ? manifest.schema : manifest_.schema,
               &without = manifest.layout.has_keys ? manifest_.schema : manifest.schema;
  are_keys_fields_ = std::ranges::any_of(without.fields, [&](const Field& field) {
    return field.kind == Kind::text && !with.find(field.name);
  });
}

std::size_t JoinedFiles::number_of(const Manifest& manifest) {
  const IndexedAs kind = columns_of_index(manifest);
  const auto known = std::ranges::find(kinds_, kind);
  const auto number = static_cast<std::size_t>(known - kinds_.begin());
  if (known == kinds_.end()) kinds_.push_back(kind);
  return number;
}

bool JoinedFiles::add(const SetMember& member, const OpenedDataset& file) {
  const Manifest& manifest = file.manifest;
  // Writers of shards leave some without a record, which says nothing of the fields.
  if (manifest.digest.samples == 0 && manifest.layout.rows.has_index()) {
    take_notes(member, {"no samples"});
    return false;
  }
  const Manifest& first = shards_.empty() ? manifest : manifest_;
  const bool is_fixed = !first.layout.rows.has_index() && !manifest.layout.rows.has_index();
  if (is_fixed && manifest.digest.samples == 0)
    throw Error(Code::unsupported, "has no samples, but is in the set {}", printable(place_))
        .at(member.path);
  if (shards_.empty()) {
    manifest_ = manifest;
    manifest_.digest = {};
    manifest_.payload_bytes = 0;
    manifest_.classes.clear();
    first_name_ = member.name;
  } else {
    drop_keys(manifest);
    refuse_other_kind(member, manifest);
    if (is_fixed)
      refuse_other_fields(manifest_.schema, manifest.schema, member, first_name_);
    else
      manifest_.schema = common_schema(manifest_.schema, manifest.schema, member, first_name_,
                                       manifest.layout.has_whole_records);
    manifest_.left_out.add(manifest.left_out);
    // Of rows of one size and samples that differ each has an index.
    if (!is_fixed && manifest_.layout.rows.has_strides()) {
      const bool has_checksums = manifest_.layout.has_checksums;
      manifest_.layout = manifest.layout;
      manifest_.layout.has_checksums = has_checksums;
    }
  }
  std::erase_if(manifest_.schema.fields, [this](const Field& field) {
    return is_unlocated(manifest_.left_out, field.name);
  });
  if (manifest_.schema.fields.empty()) {
    throw Error(Code::unsupported,
                "none of its features can be located in place in all files of "
                "the set {}",
                printable(place_))
        .at(member.path)
        .hint("'shale convert' reads it");
  }
  manifest_.layout.has_checksums = manifest_.layout.has_checksums && manifest.layout.has_checksums;
  beside_.merge(fields_beside(manifest));
  if (manifest.layout.known_as != manifest_.layout.known_as) manifest_.layout.known_as.clear();
  take_classes(member, manifest);
  for (const LostSamples& lost : file.lost) lost_.emplace_back(lost).range.before += rows_;
  rows_ += manifest.digest.samples;
  if (manifest.layout.has_keys) rows_with_keys_ += manifest.digest.samples;
  manifest_.payload_bytes += manifest.payload_bytes;
  fingerprints_ += manifest.source.fingerprint.hex() + "\n";
  shards_.push_back(shard_of(member, file));
  kind_of_.push_back(number_of(manifest));
  states_.push_back(manifest.source.file.value_or(FileFingerprint{}));
  kept_.push_back(keep_index(file, shards_.back()));
  take_notes(member, file.notes);
  return true;
}

// A label means the same in all files: the names of one go on where those of another end.
void JoinedFiles::take_classes(const SetMember& member, const Manifest& manifest) {
  if (!takes_labels_ || !manifest.schema.find(kLabel)) return;
  const std::vector<std::string>& theirs = manifest.classes;
  if (theirs.empty()) {
    if (without_classes_.empty()) without_classes_ = member.name;
    return;
  }
  if (named_by_.empty()) named_by_ = member.name;
  for (std::size_t label = 0; label < std::min(theirs.size(), classes_.size()); ++label) {
    if (theirs[label] == classes_[label]) continue;
    throw Error(Code::unsupported, "its label {} is the class '{}', but '{}' in {}", label,
                printable(theirs[label]), printable(classes_[label]), printable(named_by_))
        .at(member.path)
        .hint(
            "the files of a set must number their classes alike; convert this file on its own, or "
            "all of them without 'label', by naming the other fields with --fields");
  }
  if (theirs.size() > classes_.size()) {
    classes_ = theirs;
    named_by_ = member.name;
  }
}

void JoinedFiles::lose(const SetMember& member, const Error& error) {
  lost_.push_back({member.path,
                   {.length = InputFile(member.path).size(),
                    .before = rows_,
                    .samples = 0,
                    .why = error.message()}});
}

Error JoinedFiles::no_samples(std::size_t files) const {
  Error error(Code::unsupported, "none of its {} files has a sample", files);
  return error.at(place_);
}

ManifestShard JoinedFiles::shard_of(const SetMember& member, const OpenedDataset& file) const {
  ManifestShard shard = file.shards[0];
  shard.name = printable(member.name);
  for (ManifestFile& one : shard.files) one.name = full_path(file.paths.shards, one.name);
  for (ManifestFile* list : {&shard.index, &shard.elements, &shard.values, &shard.blocks}) {
    if (!list->name.empty()) list->name = full_path(file.paths.lists, list->name);
  }
  return shard;
}

std::shared_ptr<const void> JoinedFiles::keep_index(const OpenedDataset& file,
                                                    ManifestShard& shard) {
  constexpr std::uint64_t kLargest = 1 << 20;  // it is copied whenever it is opened
  const auto is_nameless = [](const ManifestFile& one) {
    return one.name.starts_with(kDescriptors);
  };
  const bool fits = file.temporary_index && std::ranges::none_of(shard.files, is_nameless) &&
                    std::ranges::all_of(shard.lists(), [&](const ManifestFile* list) {
                      return is_nameless(*list) && list->bytes <= kLargest;
                    });
  if (!fits) return file.temporary_index;
  if (!lists_) lists_ = nameless_file();
  for (ManifestFile* list : {&shard.index, &shard.elements, &shard.values, &shard.blocks}) {
    if (list->name.empty()) continue;
    const std::vector<std::byte> bytes = read_file(list->name, kLargest);
    write_fully(lists_->descriptor(), bytes, lists_bytes_, lists_->path());
    list->name = link_of_part(*lists_, lists_bytes_, bytes.size());
    lists_bytes_ += bytes.size();
  }
  return nullptr;
}

void JoinedFiles::take_notes(const SetMember& member, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    const auto known = std::ranges::find(notes_, note, &Note::text);
    if (known != notes_.end()) {
      ++known->others;
    } else if (notes_.size() < kMostNotes) {
      notes_.push_back({note, printable(member.name)});
    }
  }
}

std::vector<std::string> JoinedFiles::all_notes() const {
  std::vector<std::string> all;
  if (!classes_.empty() && !without_classes_.empty()) {
    all.push_back(
        fmt::format("{} names {}, but {} has labels without names: the set has no class names",
                    printable(named_by_), format_counted(classes_.size(), "class", "classes"),
                    printable(without_classes_)));
  }
  if (are_keys_dropped_) {
    all.push_back(fmt::format(
        "{} of {} have keys and the others none: the key of each sample is its number{}",
        rows_with_keys_, format_counted(rows_, "sample", "samples"),
        are_keys_fields_ ? "" : ", and those keys are left out"));
  }
  for (const Note& note : notes_) {
    const std::string others =
        note.others == 0
            ? ""
            : fmt::format(" and {}", format_counted(note.others, "other file", "other files"));
    all.push_back(fmt::format("{}{}: {}", note.first, others, note.text));
  }
  return all;
}

std::set<std::string> JoinedFiles::beside() const {
  std::set<std::string> all = beside_;
  // Keys were, so they may be in any field of text now.
  if (are_keys_dropped_ && all.erase("") > 0) {
    for (const Field& field : manifest_.schema.fields)
      if (field.kind == Kind::text) all.insert(field.name);
  }
  std::erase_if(all, [&](const std::string& field) {
    return !field.empty() && !manifest_.schema.find(field);
  });
  return all;
}

IndexedAs JoinedFiles::indexed_as() const {
  return {manifest_.schema, manifest_.layout.has_checksums, beside()};
}

std::vector<std::size_t> JoinedFiles::misfits() const {
  std::vector<std::size_t> numbers;
  if (!manifest_.layout.rows.has_index()) return numbers;
  for (std::size_t number = 0; number < shards_.size(); ++number) {
    if (kinds_[kind_of_[number]] != indexed_as() || shards_[number].index.name.empty())
      numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::string> JoinedFiles::arrays_of(std::size_t number) const {
  std::vector<std::string> arrays;
  for (const Field& field : kinds_[kind_of_[number]].schema.fields) {
    const std::optional<std::size_t> there = manifest_.schema.find(field.name);
    if (field.kind == Kind::integer && there &&
        manifest_.schema.fields[*there].kind == Kind::tensor)
      arrays.push_back(field.name);
  }
  return arrays;
}

void JoinedFiles::replace(std::size_t number, const SetMember& member, const OpenedDataset& file) {
  manifest_.payload_bytes -= shards_[number].payload_bytes;
  shards_[number] = shard_of(member, file);
  manifest_.payload_bytes += shards_[number].payload_bytes;
  kind_of_[number] = number_of(file.manifest);
  kept_[number] = keep_index(file, shards_[number]);
}

OpenedDataset JoinedFiles::finish() && {
  OpenedDataset set;
  manifest_.layout.field_part.resize(manifest_.schema.fields.size(), 0);
  if (!beside_.empty()) place_parts(manifest_.layout, manifest_.schema, beside());
  if (are_keys_dropped_ && !are_keys_fields_)
    manifest_.left_out.add({.kind = "column",
                            .name = "key",
                            .reason = "not_in_all_files",
                            .samples = rows_with_keys_});
  manifest_.layout.has_elements =
      manifest_.schema.has_lists() && std::ranges::none_of(shards_, [](const ManifestShard& shard) {
        return shard.elements.name.empty();
      });
  // Not all files were read: then none of them counts as proved.
  for (ManifestShard& shard : shards_) {
    if (!manifest_.layout.has_values) shard.values = {};
    if (!manifest_.layout.has_checksums) {
      shard.blocks = {};
      shard.digest = {.samples = shard.digest.samples, .content = {}, .ordered = {}, .keys = {}};
      for (ManifestFile& file : shard.files) file.hash = {};
    }
    manifest_.digest.append(shard.digest);
  }
  manifest_.shard_count = shards_.size();
  manifest_.source = {
      .kind = std::string(kFileListKind),
      .samples = manifest_.digest.samples,
      .bytes = manifest_.payload_bytes,
      .fingerprint = xxh3_128(as_bytes(fmt::format("{}\n{}", kFileListKind, fingerprints_)))};
  set.notes = all_notes();
  if (without_classes_.empty()) manifest_.classes = std::move(classes_);
  set.paths.manifest = place_;
  set.manifest = manifest_;
  set.file_states = std::move(states_);
  set.lost = std::move(lost_);
  std::erase(kept_, nullptr);
  if (lists_) kept_.push_back(std::move(lists_));
  if (!kept_.empty())
    set.temporary_index =
        std::make_shared<const std::vector<std::shared_ptr<const void>>>(std::move(kept_));
  set.shards = ShardList(std::move(manifest_), std::move(shards_));
  return set;
}

}  // namespace shale
