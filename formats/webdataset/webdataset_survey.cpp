#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/json_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/wire/npy_value.hpp"
#include "shale/wire/tar_writer.hpp"

#include "formats/webdataset/webdataset_fields.hpp"
#include "formats/webdataset/webdataset_foreign.hpp"
#include "formats/webdataset/webdataset_names.hpp"

namespace shale {
namespace {

// What hostile archives, each member with an extension of its own, can cost.
constexpr std::size_t kMostExtensions = 1024;
constexpr std::uint64_t kMostTextBytes = 1 << 20;
constexpr std::size_t kMostHashes = 1 << 20;

// The keys so far, by their hashes. Where there are too many only one in two, four, eight ... of
// all keys is kept.
class SeenKeys {
 public:
  // True if there was one before.
  bool meet(std::uint64_t hash) {
    if ((hash & sampled_) != 0) return false;
    hash += hash == 0 ? sampled_ + 1 : 0;  // 0 is an empty slot
    if (count_ * 2 >= slots_.size()) make_room();
    if ((hash & sampled_) != 0) return false;
    return put(hash);
  }
  [[nodiscard]] bool has_all() const { return sampled_ == 0; }

 private:
  bool put(std::uint64_t hash) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (hash >> 20) & mask;
    while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & mask;
    if (slots_[at] == hash) return true;
    slots_[at] = hash;
    ++count_;
    return false;
  }
  void make_room() {
    const bool is_full = slots_.size() >= 2 * kMostHashes;
    if (is_full) sampled_ = sampled_ * 2 + 1;
    std::vector<std::uint64_t> old(is_full ? slots_.size()
                                           : std::max<std::size_t>(1024, slots_.size() * 2));
    old.swap(slots_);
    count_ = 0;
    for (const std::uint64_t hash : old) {
      if (hash != 0 && (hash & sampled_) == 0) put(hash);
    }
  }

  std::vector<std::uint64_t> slots_;
  std::uint64_t sampled_ = 0;  // bits that are 0 in the hashes that are kept
  std::size_t count_ = 0;
};

struct ExtensionFacts {
  std::uint64_t samples = 0, doubled = 0, next_sample = 0;
  std::string first_doubled = {};
  bool is_number = true, is_text = true, is_json = true;
  bool is_list = false, has_elements = false;
  std::optional<Field> array = {};
  std::string no_array = {};  // why it is none
};

class WebdatasetSurvey {
 public:
  WebdatasetSurvey(const InputFile& file, const Parsing& parsing, const WalkProgress& progress,
                   const LostRanges* lost = nullptr)
      : file_(file),
        is_plain_(parsing.dialect == Dialect::plain),
        pace_(progress, file.size()),
        walk_(file, pace_, lost),
        is_own_(
            is_own_webdataset([this](std::uint64_t offset,
                                     std::uint64_t length) { return walk_.view(offset, length); },
                              file.size())) {}

  Survey run() {
    while (const std::optional<SampleMember> member = walk_.next()) add(*member);
    if (walk_.damage() && (walk_.damage()->code() != Code::damaged || samples_ == 0))
      throw Error(*walk_.damage());
    if (samples_ == 0) {
      throw Error(Code::unsupported,
                  "is a tar archive without a sample: no member has an extension")
          .at(file_.path());
    }
    const Dialect dialect = is_plain_ ? Dialect::plain : Dialect::webdataset;
    Survey survey = Survey::of_one_file(schema(), dialect);
    survey.layout.has_whole_records = true;
    if (split_keys_ > 0) {
      survey.layout.has_values = true;
      survey.layout.part_file = {0, 1};
      survey.layout.key_part = 1;
    }
    tell_rest();
    survey.notes = std::move(notes_);
    survey.left_out = std::move(left_out_);
    return survey;
  }

 private:
  void add(const SampleMember& member) {
    if (member.is_first) begin_sample(member);
    std::optional<ListMember> list;
    if (is_own_ && !is_plain_) list = list_member(member.extension);
    const std::string_view extension = list ? list->extension : member.extension;
    auto known = facts_.find(extension);
    if (known == facts_.end()) known = meet(member, extension);
    ExtensionFacts& facts = known->second;
    facts.is_list = list.has_value();
    if (list && list->element) add_element(member, facts);
    if (list && list->element.value_or(0) > 0) return;
    if (facts.next_sample == samples_) {
      if (facts.doubled++ == 0) facts.first_doubled = member.key;
    } else {
      facts.next_sample = samples_;
      ++facts.samples;
      if (is_image_extension(member.extension)) has_one_image_ = has_one_image_ && ++images_ == 1;
    }
    if (!is_plain_ && !list) look_into(member, facts);
  }

  // Whether all elements are text: the scan finds those that are not where they belong.
  void add_element(const SampleMember& member, ExtensionFacts& facts) {
    facts.has_elements = true;
    facts.is_text = facts.is_text && value_type_of(member.extension) == ValueType::text;
    if (facts.is_text) look_into(member, facts);
  }

  void begin_sample(const SampleMember& member) {
    ++samples_;
    images_ = 0;
    if (member.key_place.offset == kMissing) ++split_keys_;
    if (!seen_.meet(xxh3_64(as_bytes(member.key)))) return;
    if (scattered_.count++ == 0) scattered_.first = member.key;
  }

  std::map<std::string, ExtensionFacts, std::less<>>::iterator meet(const SampleMember& member,
                                                                    std::string_view extension) {
    if (facts_.size() == kMostExtensions) {
      throw Error(Code::unsupported,
                  "its members have more than {} extensions, which follow the first dot of a name: "
                  "'{}' in '{}'",
                  kMostExtensions, printable(extension), printable(member.key))
          .at(file_.path(), member.begin)
          .hint("if its files are not samples, unpack it with tar, and convert the folder");
    }
    return facts_.emplace(std::string(extension), ExtensionFacts()).first;
  }

  void look_into(const SampleMember& member, ExtensionFacts& facts) {
    const FieldPlace& place = member.place;
    switch (value_type_of(member.extension)) {
      case ValueType::bytes:
        return;
      case ValueType::integer:
        facts.is_number = facts.is_number && place.length <= kMostNumberBytes &&
                          number_in(as_text(walk_.view(place.offset, place.length)));
        return;
      case ValueType::text:
      case ValueType::json: {
        facts.is_text = facts.is_text && place.length <= kMostTextBytes;
        if (!facts.is_text) return;
        const std::string_view text = as_text(walk_.view(place.offset, place.length));
        facts.is_text = is_utf8(text);
        facts.is_json = facts.is_json && facts.is_text && !json_fault(text);
        return;
      }
      case ValueType::array:
        return look_at_array(member, facts);
    }
  }

  void look_at_array(const SampleMember& member, ExtensionFacts& facts) {
    if (!facts.no_array.empty()) return;
    try {
      ArrayInMember found = array_in(walk_, member.place, file_.path());
      Field field{.name = {}, .kind = Kind::tensor, .dtype = std::move(found.dtype)};
      field.shape = std::move(found.shape);
      if (!facts.array) {
        facts.array = std::move(field);
        return;
      }
      std::vector<std::uint64_t>& shape = facts.array->shape;
      if (facts.array->dtype != field.dtype || shape.size() != field.shape.size())
        throw Error(Code::unsupported, "arrays differ in type or in the number of their axes");
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] != field.shape[axis]) shape[axis] = kFreeSide;
      }
    } catch (const Error& error) {
      if (error.code() == Code::io || error.code() == Code::bug) throw;
      facts.no_array = fmt::format("{} ('{}')", error.message(), printable(member.key));
    }
  }

  Schema schema() {
    std::vector<std::string> extensions;
    for (const auto& [extension, facts] : facts_) extensions.push_back(extension);
    const std::map<std::string, std::string> names =
        is_plain_ ? plain_fields_of_extensions(extensions)
                  : fields_of_extensions(extensions, has_one_image_);
    std::map<std::string, std::vector<std::string>> sources;
    for (const auto& [extension, facts] : facts_) {
      const auto name = names.find(extension);
      const bool has_name = name != names.end() && is_name(name->second);
      if (has_name) {
        sources[name->second].push_back(extension);
      } else {
        left_out_.add({"member", extension, "name", facts.samples});
        notes_.push_back(fmt::format("members with the extension '{}' are left out: {}",
                                     printable(extension),
                                     name == names.end() ? "another would be the same field"
                                                         : "no field can have its name"));
      }
    }
    Schema schema;
    for (const auto& [name, of] : sources) {
      Field field = of.size() == 1 ? field_of(of[0], facts_.find(of[0])->second) : Field{};
      field.name = name;
      std::uint64_t samples = 0;
      for (const std::string& extension : of) samples += facts_.find(extension)->second.samples;
      field.is_optional = samples < samples_;
      schema.fields.push_back(std::move(field));
    }
    if (schema.fields.empty())
      throw Error(Code::unsupported, "none of its extensions is the name of a field")
          .at(file_.path());
    if (const std::string text = renamed_text(sources); !text.empty())
      notes_.push_back("fields by extension: " + text);
    return schema;
  }

  static bool is_name(const std::string& name) try {
    validate_schema({.fields = {{.name = name}}});
    return true;
  } catch (const Error&) {
    return false;
  }

  Field field_of(const std::string& extension, const ExtensionFacts& facts) {
    Field field;
    if (is_plain_) return field;
    if (facts.is_list) {
      field.kind = Kind::list;
      field.elements = facts.has_elements && facts.is_text ? Kind::text : Kind::bytes;
      return field;
    }
    switch (value_type_of(extension)) {
      case ValueType::bytes:
        break;
      case ValueType::integer:
        if (facts.is_number)
          field.kind = Kind::integer;
        else
          tell_bytes(extension, "not all are integers");
        break;
      case ValueType::text:
      case ValueType::json:
        if (facts.is_text)
          field.kind = Kind::text;
        else
          tell_bytes(extension, "not all are UTF-8 of at most 1 MiB");
        field.is_json =
            facts.is_text && facts.is_json && value_type_of(extension) == ValueType::json;
        break;
      case ValueType::array:
        if (facts.no_array.empty() && facts.array) return *facts.array;
        tell_bytes(extension, facts.no_array);
        break;
    }
    return field;
  }

  void tell_bytes(const std::string& extension, std::string_view why) {
    notes_.push_back(fmt::format("'.{}' is a field of bytes: {}", printable(extension), why));
  }

  void tell(const MembersAside& aside, std::string_view one, std::string_view many) {
    if (aside.count == 0) return;
    notes_.push_back(fmt::format("{} {} ('{}'{})", aside.count, aside.count == 1 ? one : many,
                                 printable(aside.first), aside.count == 1 ? "" : " ..."));
  }

  void leave_out(const MembersAside& aside, std::string_view reason) {
    if (aside.count > 0) left_out_.add({"member", aside.first, std::string(reason), aside.count});
  }

  void tell_rest() {
    for (const auto& [extension, facts] : facts_) {
      tell({facts.doubled, facts.first_doubled + "." + extension},
           "member is there twice in its sample, and only the last one counts",
           "members are there more than once in their samples, and only the last one counts");
      leave_out({facts.doubled, facts.first_doubled + "." + extension}, "doubled");
    }
    tell(scattered_, "sample has the key of another that is not beside it",
         seen_.has_all() ? "samples have the keys of others that are not beside them"
                         : "samples at least have the keys of others that are not beside them");
    tell(walk_.links(), "link is left out", "links are left out");
    leave_out(walk_.links(), "link");
    tell(walk_.specials(), "device or FIFO is left out", "devices or FIFOs are left out");
    leave_out(walk_.specials(), "special");
    tell(walk_.hidden(), "hidden member is ignored", "hidden members are ignored");
    tell(walk_.nameless(), "member without an extension is ignored",
         "members without an extension are ignored");
  }

  const InputFile& file_;
  bool is_plain_, has_one_image_ = true;
  WalkPace pace_;
  SampleWalk walk_;
  bool is_own_;  // its lists have a member per element
  std::map<std::string, ExtensionFacts, std::less<>> facts_;
  std::uint64_t samples_ = 0, split_keys_ = 0, images_ = 0;
  SeenKeys seen_;
  MembersAside scattered_;
  std::vector<std::string> notes_;
  LeftOutList left_out_;
};

}  // namespace

ArrayInMember array_in(SampleWalk& walk, const FieldPlace& member, const std::string& where) {
  const std::uint64_t prefix = std::min(member.length, kNpyPrefixBytes);
  const std::uint64_t head =
      std::min(member.length, npy_header_length(walk.view(member.offset, prefix), where));
  const NpyHeader header = parse_npy_value(walk.view(member.offset, head), member.length, where);
  const bool has_order =
      std::ranges::count_if(header.shape, [](std::uint64_t side) { return side != 1; }) > 1;
  if (header.fortran_order && has_order)
    throw Error(Code::unsupported, "an array is in Fortran's order").at(where, member.offset);
  if (!header.swaps.empty())
    throw Error(Code::unsupported, "an array is big-endian").at(where, member.offset);
  return {
      .dtype = header.dtype,
      .shape = header.shape,
      .place = {.offset = member.offset + header.data_offset, .length = npy_data_bytes(header)}};
}

bool is_own_webdataset(const ViewBytes& view, std::uint64_t archive_bytes) try {
  constexpr std::size_t kTypeOfMember = 156;
  if (archive_bytes < kTarBlockBytes) return false;
  const auto type = static_cast<char>(view(0, kTarBlockBytes)[kTypeOfMember]);
  if (type != '0' && type != 'x') return false;
  const WrittenTarFile first = read_tar_headers(view, 0, archive_bytes);
  return !first.file.target.empty() ||
         std::ranges::find(first.file.records, kKeyRecord, &PaxRecord::key) !=
             first.file.records.end();
} catch (const Error& error) {
  if (!is_about_bytes(error)) throw;
  return false;
}

int bid_for_samples_in_tar(const Probe& probe) {
  constexpr int kMostMembers = 256, kBid = 40;
  if (probe.file == nullptr || !is_tar_header(probe.head)) return 0;
  const WalkProgress silent;
  WalkPace pace(silent, probe.file_bytes);
  SampleWalk walk(*probe.file, pace);
  std::string first;  // extension of the sample
  bool is_pair = false, has_pair = false, has_class = false, is_class = false;
  for (int members = 0; members < kMostMembers; ++members) {
    const std::optional<SampleMember> member = walk.next();
    if (!member) break;
    if (member->is_first) {
      first = member->extension;
      is_pair = is_class = false;
    }
    is_pair = is_pair || member->extension != first;
    is_class = is_class || member->extension == "cls";
    has_pair = has_pair || is_pair;
    has_class = has_class || (is_pair && is_class);
  }
  return has_pair && (has_class || walk.folders().count == 0) ? kBid : 0;
}

std::string names_in_webdataset(const InputFile& file, const Schema& schema) {
  constexpr int kMostMembers = 256;
  const WalkProgress silent;
  WalkPace pace(silent, file.size());
  SampleWalk walk(file, pace);
  std::map<std::string, std::vector<std::string>> sources;
  for (int members = 0; members < kMostMembers; ++members) {
    const std::optional<SampleMember> member = walk.next();
    if (!member) break;
    std::string extension(member->extension);
    if (std::optional<ListMember> list; schema.has_lists() && (list = list_member(extension)))
      extension = std::move(list->extension);
    const std::optional<std::size_t> field = field_of_extension(schema, extension);
    if (!field) continue;
    std::vector<std::string>& known = sources[schema.fields[*field].name];
    if (std::ranges::find(known, extension) == known.end()) known.push_back(std::move(extension));
  }
  for (auto& [name, extensions] : sources) std::ranges::sort(extensions);
  const std::string text = renamed_text(sources);
  return text.empty() ? "" : "fields by extension, in the first members: " + text;
}

Survey survey_webdataset(const InputFile& file, const Parsing& parsing,
                         const WalkProgress& progress) {
  refuse_compressed_tar(file);
  return WebdatasetSurvey(file, parsing, progress).run();
}

Survey salvage_webdataset(const InputFile& file, const Parsing& parsing,
                          const WalkProgress& progress) {
  refuse_compressed_tar(file);
  LostRanges lost = find_lost_members(file, progress);
  Survey survey = WebdatasetSurvey(file, parsing, progress, &lost).run();
  survey.lost = std::move(lost);
  return survey;
}

}  // namespace shale
