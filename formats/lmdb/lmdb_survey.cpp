#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"

#include "formats/lmdb/lmdb_layout_survey.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_value.hpp"

namespace shale {
namespace {

using lmdb::MetaPage;
using lmdb::TreeEntry;

// Proving that strings are UTF-8 takes reading them: only short ones are read.
constexpr std::uint64_t kMostTextBytes = 4096;
// Maps are compared name by name: this bounds what hostile ones can cost.
constexpr std::size_t kMostFields = 1024;
constexpr std::string_view kPlainHint =
    "index it without --parse msgpack: each value is then one field of bytes, 'value'";

// Learns the schema from the maps of all entries.
class MapSurvey {
 public:
  MapSurvey(const InputFile& file, WalkPace& pace)
      : file_(file), value_(file, lmdb::ValueReads::headers, pace) {}

  void add(const TreeEntry& entry) {
    value_.enter(entry);
    try {
      map_ = parse_msgpack_map(value_.view(), entry.value_offset, entry.value_bytes, file_.path());
    } catch (const Error& error) {
      if (error.code() == Code::io) throw;
      refuse(entry, fmt::format("the value cannot be split into fields ({})", error.message()));
    }
    check_key(entry);
    if (count_++ == 0) {
      learn(entry);
    } else {
      compare(entry);
    }
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }

  Schema schema() && {
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      if (schema_.fields[i].kind == Kind::text && !is_text_[i]) {
        schema_.fields[i].kind = Kind::bytes;
      }
    }
    try {
      validate_schema(schema_);
    } catch (Error& error) {
      error.at(file_.path());
      throw;
    }
    return std::move(schema_);
  }

 private:
  [[noreturn]] void refuse(const TreeEntry& entry, const std::string& fact) const {
    throw Error(Code::unsupported, "msgpack: {}", fact)
        .at(file_.path(), entry.value_offset)
        .for_sample(as_text(entry.key), count_)
        .hint(kPlainHint);
  }

  void check_key(const TreeEntry& entry) const {
    const MsgpackEntry* key = lmdb::find_entry(map_, "key");
    const std::size_t keys = key != nullptr ? 1 : 0;
    if (keys == 1 && !key->is_run()) {
      refuse(entry, fmt::format("its 'key' is {}, not a string", name_of(key->type)));
    }
    if (keys == 1 && key->length > kMaxKeyBytes) {
      refuse(entry, fmt::format("its 'key' has {} bytes, more than the limit of {}", key->length,
                                kMaxKeyBytes));
    }
    if (count_ > 0 && keys != keys_) {
      refuse(entry, fmt::format("a 'key' is {} this map, unlike in those before it",
                                keys == 1 ? "in" : "missing from"));
    }
  }

  // The field that a value makes. Refused: what no kind can hold.
  Field field_of(const TreeEntry& entry, const MsgpackEntry& value) {
    Field field{.name = value.name};
    for (const Kind kind : {Kind::bytes, Kind::text, Kind::integer, Kind::real, Kind::list}) {
      // Both str and bin can hold bytes: a str is text until one of them is not.
      const bool is_text = value.type == MsgpackType::text;
      if ((kind == Kind::bytes && is_text) || !lmdb::can_hold(kind, value, false)) continue;
      field.kind = kind;
      return field;
    }
    const auto tensor = lmdb::read_tensor(value_.view(), value, false);
    if (!tensor) {
      refuse(entry, fmt::format("field '{}' is {}, which no field can hold", printable(value.name),
                                describe_type(value)));
    }
    field.kind = Kind::tensor;
    field.shape = tensor->shape;
    try {
      field.dtype = DType::parse(tensor->dtype);
      if (field.tensor_bytes() == tensor->data.length) return field;
    } catch (const Error& error) {
      refuse(entry, fmt::format("field '{}': {}", printable(value.name), error.message()));
    }
    refuse(entry, fmt::format("field '{}' has {} bytes for {}", printable(value.name),
                              tensor->data.length, type_text(field)));
  }

  static std::string describe_type(const MsgpackEntry& value) {
    if (value.type == MsgpackType::array) return "an array with elements other than bytes";
    if (value.type == MsgpackType::map) return "a map that is not a tensor of shale";
    return std::string(name_of(value.type));
  }

  void learn(const TreeEntry& entry) {
    if (map_.size() > kMostFields) {
      refuse(entry, fmt::format("its map has {} entries, more than the limit of {} fields",
                                map_.size(), kMostFields));
    }
    for (const MsgpackEntry& value : map_) {
      if (value.name == "key") {
        ++keys_;
        continue;
      }
      schema_.fields.push_back(field_of(entry, value));
      is_text_.push_back(is_short_text(value));
    }
    if (keys_ > 1) refuse(entry, "its map has more than one 'key'");
  }

  void compare(const TreeEntry& entry) {
    if (map_.size() != schema_.fields.size() + keys_) {
      refuse(entry, fmt::format("its map has {} entries, but those before it have {}", map_.size(),
                                schema_.fields.size() + keys_));
    }
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      Field& known = schema_.fields[i];
      const bool is_in_place = map_.size() > i + keys_ && map_[i + keys_].name == known.name;
      const MsgpackEntry* value =
          is_in_place ? &map_[i + keys_] : lmdb::find_entry(map_, known.name);
      if (value == nullptr) {
        refuse(entry,
               fmt::format("its map has no '{}', but those before it do", printable(known.name)));
      }
      const Field field = field_of(entry, *value);
      const bool is_string = known.kind == Kind::text || known.kind == Kind::bytes;
      const bool are_strings = is_string && (field.kind == Kind::text || field.kind == Kind::bytes);
      if (field != known && !are_strings) {
        refuse(entry, fmt::format("field '{}' is {}, but in the maps before it {}",
                                  printable(known.name), type_text(field), type_text(known)));
      }
      if (is_text_[i]) is_text_[i] = is_short_text(*value);
      if (are_strings && !is_text_[i]) known.kind = Kind::bytes;
    }
  }

  bool is_short_text(const MsgpackEntry& value) const {
    return value.type == MsgpackType::text && value.length <= kMostTextBytes &&
           is_utf8(as_text(value_.view()(value.offset, value.length)));
  }

  const InputFile& file_;
  lmdb::ValueReader value_;
  std::vector<MsgpackEntry> map_;
  std::uint64_t count_ = 0;
  std::size_t keys_ = 0;  // entries 'key' of a map: 0 or 1
  Schema schema_;
  std::vector<bool> is_text_;  // one per field
};

void refuse_named_database(const TreeEntry& entry, const InputFile& file) {
  if ((entry.flags & lmdb::kSubData) == 0) return;
  throw Error(Code::unsupported, "holds named databases, such as '{}'",
              printable(as_text(entry.key)))
      .at(file.path(), entry.key_offset)
      .hint("copy the named database into a file of its own, as its main database");
}

Survey survey_entries(const InputFile& file, Dialect dialect, const WalkProgress& progress) {
  if (dialect == Dialect::own) {
    throw Error(Code::usage, "shards of shale are described by their dataset.json, not by a survey")
        .at(file.path());
  }
  const bool is_parsed = dialect == Dialect::msgpack;
  // Damage stops where the schema hangs on it; elsewhere the scan will tell more of it.
  const FindingSink findings = [&](const Finding& finding) {
    if (!is_parsed) return;
    throw fields_unknown(finding, file).hint(kPlainHint);
  };
  const MetaPage meta = lmdb::read_live_meta(file, findings);
  lmdb::refuse_sorted_duplicates(meta, file);

  const SparseReading sparse(file);
  WalkPace pace(progress, file.size());
  MapSurvey maps(file, pace);
  const lmdb::EntrySink entries = [&](const TreeEntry& entry) {
    refuse_named_database(entry, file);
    if (is_parsed) maps.add(entry);
  };
  (void)lmdb::walk_trees(file, meta, {.prefetches_values = is_parsed, .pace = &pace}, entries,
                         findings);
  if (is_parsed && maps.count() == 0) {
    throw Error(Code::unsupported, "has no entries, so there is no map to take fields from")
        .at(file.path())
        .hint(kPlainHint);
  }

  if (is_parsed) return Survey::of_one_file(std::move(maps).schema(), dialect);
  return Survey::of_one_file({.fields = {{.name = "value", .kind = Kind::bytes}}}, dialect);
}

}  // namespace

Survey survey_lmdb_file(const InputFile& file, std::optional<Dialect> wanted,
                        const WalkProgress& progress) {
  if (wanted && is_layout(*wanted)) return survey_lmdb_layout(file, *wanted, progress);
  LayoutSearch search;
  if (!wanted) {
    search = find_lmdb_layout(file, progress);
    if (search.survey) return std::move(*search.survey);
  }
  Survey survey = survey_entries(file, wanted.value_or(Dialect::plain), progress);
  survey.notes.insert(survey.notes.end(), search.notes.begin(), search.notes.end());
  return survey;
}

}  // namespace shale
