#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/finding.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/format.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"
#include "formats/lmdb/lmdb_layout.hpp"
#include "formats/lmdb/lmdb_listed.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_pickled.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_value.hpp"

namespace shale {
namespace {

using lmdb::LayoutFacts;
using lmdb::LayoutField;
using lmdb::MetaPage;
using lmdb::TreeEntry;

// Proving that strings are UTF-8 takes reading them: only short ones are read.
constexpr std::uint64_t kMostTextBytes = 4096;
// Maps are compared name by name: this bounds what hostile ones can cost.
constexpr std::size_t kMostFields = 1024;
constexpr std::string_view kPlainHint =
    "pass --parse plain: each value is then one field of bytes, 'value'";

// What a field is, in words: "a tensor float32 (2,)".
std::string type_text(const Field& field) {
  return field.kind == Kind::tensor ? "a tensor " + array_text(field.dtype, field.shape)
                                    : std::string(name_of(field.kind));
}

// For damage that a schema hangs on.
Error fields_unknown(const Finding& damage, const InputFile& file) {
  Error error(Code::damaged, "cannot determine the fields: {}", damage.message);
  error.at(file.path(), damage.offset);
  return error;
}

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

void walk_entries(const InputFile& file, const lmdb::TreeWalkOptions& options,
                  const lmdb::EntrySink& entries, const FindingSink& findings) {
  const MetaPage meta = lmdb::read_live_meta(file, findings);
  lmdb::refuse_sorted_duplicates(meta, file);
  const SparseReading sparse(file);
  (void)lmdb::walk_trees(file, meta, options, entries, findings);
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
  WalkPace pace(progress, file.size());
  MapSurvey maps(file, pace);
  const lmdb::EntrySink entries = [&](const TreeEntry& entry) {
    if ((entry.flags & lmdb::kSubData) != 0) {
      throw Error(Code::unsupported, "holds named databases, such as '{}'",
                  printable(as_text(entry.key)))
          .at(file.path(), entry.key_offset)
          .hint("copy the named database into a file of its own, as its main database");
    }
    if (is_parsed) maps.add(entry);
  };
  walk_entries(file, {.prefetches_values = is_parsed, .pace = &pace}, entries, findings);
  if (is_parsed && maps.count() == 0) {
    throw Error(Code::unsupported, "has no entries, so there is no map to take fields from")
        .at(file.path())
        .hint(kPlainHint);
  }

  if (is_parsed) return Survey::of_one_file(std::move(maps).schema(), dialect);
  return Survey::of_one_file({.fields = {{.name = "value", .kind = Kind::bytes}}}, dialect);
}

// Every key that describes a file in some layout.
constexpr std::string_view kMetaKeys[] = {"__keys__", "__len__", "__order__", "__vlen__"};

// Learns the schema from the values of all samples.
class LayoutSurvey {
 public:
  LayoutSurvey(const InputFile& file, const LayoutFacts& layout, const WalkProgress& progress)
      : file_(file),
        layout_(layout),
        progress_(progress),
        pace_(progress_, file.size()),
        // Frames of a video follow one another closely.
        value_(file,
               layout.has_videos ? lmdb::ValueReads::up_to_headers : lmdb::ValueReads::headers,
               pace_) {}

  Survey run() {
    std::vector<std::string> classes;
    if (layout_.described_by.empty()) {
      walk();
    } else {
      classes = read_listed();
    }
    if (fields_.empty()) take_usual_fields();
    Survey survey = Survey::of_one_file({.fields = std::move(fields_)}, layout_.dialect);
    survey.classes = std::move(classes);
    return survey;
  }

 private:
  // Of a file without samples.
  void take_usual_fields() {
    if (!layout_.has_usual_fields) {
      throw lmdb::not_of_layout(layout_, "the file has no samples to take fields from")
          .at(file_.path());
    }
    const bool are_videos = layout_.has_videos;
    fields_ = {
        {.name = are_videos ? "frames" : "image", .kind = are_videos ? Kind::list : Kind::bytes},
        {.name = "label", .kind = Kind::integer}};
  }

  void walk() {
    const FindingSink findings = [this](const Finding& finding) {
      throw fields_unknown(finding, file_);
    };
    walk_entries(
        file_, {.prefetches_values = true, .pace = &pace_},
        [this](const TreeEntry& entry) { take(entry, as_text(entry.key)); }, findings);
  }

  std::vector<std::string> read_listed() {
    std::optional<SparseReading> sparse;
    if (!layout_.has_videos) sparse.emplace(file_);
    const lmdb::NamedSamples listed(file_, layout_);
    listed.for_each([&](const lmdb::NamedSample& sample) {
      pace_.step_to_row(samples_, listed.samples());
      take(listed.entry_of(sample).entry, sample.key);
    });
    return listed.classes();
  }

  void take(const TreeEntry& entry, std::string_view key) {
    value_.enter(entry);
    try {
      const std::vector<LayoutField> found =
          layout_.parse({value_.view(), entry.value_offset, entry.value_bytes, file_.path()});
      if (samples_ == 0) {
        for (const LayoutField& one : found) fields_.push_back(one.field);
      } else {
        compare(found, entry.value_offset);
      }
    } catch (Error& error) {
      if (error.code() == Code::io) throw;
      throw lmdb::not_of_layout(layout_, error.message())
          .at(file_.path(), error.offset())
          .for_sample(key, samples_)
          .hint(kPlainHint);
    }
    ++samples_;
  }

  void compare(const std::vector<LayoutField>& found, std::uint64_t offset) const {
    if (found.size() != fields_.size()) {
      throw Error(Code::unsupported, "the value has {} fields, but those before it {}",
                  found.size(), fields_.size())
          .at(file_.path(), offset);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].field == fields_[i]) continue;
      throw Error(Code::unsupported, "field '{}' is {}, but in the values before it {}",
                  fields_[i].name, type_text(found[i].field), type_text(fields_[i]))
          .at(file_.path(), offset);
    }
  }

  const InputFile& file_;
  const LayoutFacts& layout_;
  const WalkProgress& progress_;
  WalkPace pace_;
  lmdb::ValueReader value_;
  std::vector<Field> fields_;
  std::uint64_t samples_ = 0;
};

// The keys of kMetaKeys that the file has; nullopt for a file that is damaged on the way to them.
std::optional<std::vector<std::string_view>> meta_keys_in(const InputFile& file) {
  try {
    const auto map = open_lmdb_map(file);
    std::vector<std::string_view> found;
    std::copy_if(std::begin(kMetaKeys), std::end(kMetaKeys), std::back_inserter(found),
                 [&](std::string_view key) { return map->find(as_bytes(key)).has_value(); });
    return found;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;  // the survey of its entries says more
  }
}

// How many samples fitted, and one more if it was a sample that did not.
std::uint64_t samples_until(const Error& error) {
  return error.sample() ? error.sample()->index.value_or(0) + 1 : 0;
}

// Of layouts that share the entries which describe the file, the one that got furthest.
std::vector<std::string> notes_of(const std::vector<Error>& near_misses) {
  std::uint64_t furthest = 0;
  for (const Error& error : near_misses) furthest = std::max(furthest, samples_until(error));
  std::vector<std::string> notes;
  for (const Error& error : near_misses) {
    if (samples_until(error) < furthest) continue;
    std::string note = fmt::format(
        "read as plain entries; {}{}",
        error.sample() ? fmt::format("sample '{}': ", printable(error.sample()->key)) : "",
        error.message());
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  }
  return notes;
}

// Of a file that is described in some other way: a layout has exactly its own entries.
std::string note_of_unknown(const std::vector<std::string_view>& keys) {
  std::string names;
  for (std::size_t i = 0; i < keys.size(); ++i)
    names += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == keys.size() ? " and " : ", ", keys[i]);
  return fmt::format("read as plain entries; {} {}, but no known layout has exactly {}", names,
                     keys.size() == 1 ? "describes the file" : "describe the file",
                     keys.size() == 1 ? "this entry" : "these entries");
}

// Of a file whose first value is a pickle; else empty.
std::string note_of_pickles(const InputFile& file) {
  std::string note;
  try {
    const auto map = open_lmdb_map(file);
    const auto cursor = map->cursor();
    if (!cursor->first()) return {};
    const std::optional<KeyMapEntry> entry = cursor->current();
    WindowReader window(file, 4096);
    if (!entry || entry->is_database ||
        !lmdb::looks_pickled(window.views(), entry->value_offset, entry->value_bytes))
      return {};
    note = "read as plain entries; the values are pickles, whose fields cannot be read: ";
    (void)lmdb::facts_of(Dialect::pickle)
        .parse({window.views(), entry->value_offset, entry->value_bytes, file.path()});
    return "read as plain entries; the first value is a pickle, which --parse pickle reads as "
           "fields";
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return note.empty() ? note : note + error.message();
  }
}

// What came of comparing a file with all layouts.
struct LayoutSearch {
  std::optional<Survey> survey = {};    // of the layout that it has; nullopt: none
  std::vector<std::string> notes = {};  // why it is none that it seems to be, a sentence each
};

// Errors: Code::unsupported, naming both, for a file that two layouts fit; Code::io.
LayoutSearch find_layout(const InputFile& file, const WalkProgress& progress) {
  LayoutSearch search;
  std::vector<Error> near_misses;
  const auto keys = meta_keys_in(file);
  if (!keys) return search;
  bool is_described = keys->empty();
  for (const LayoutFacts& layout : lmdb::all_layouts()) {
    if (!layout.is_recognized ||
        !std::equal(keys->begin(), keys->end(), layout.described_by.begin(),
                    layout.described_by.end()))
      continue;
    is_described = true;
    try {
      Survey survey = LayoutSurvey(file, layout, progress).run();
      if (!search.survey) {
        search.survey = std::move(survey);
        continue;
      }
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      // Without entries that describe it nothing but its first samples says that it is of this
      // layout.
      const bool had_samples = error.sample() && error.sample()->index.value_or(0) > 0;
      if (!keys->empty() || had_samples) near_misses.push_back(error);
      continue;
    }
    throw Error(Code::unsupported, "is both of layout {} and of layout {}",
                name_of(search.survey->layout.dialect), name_of(layout.dialect))
        .at(file.path())
        .hint(fmt::format("choose one: --parse {}", name_of(layout.dialect)));
  }
  if (search.survey) return search;
  search.notes = notes_of(near_misses);
  if (!is_described) search.notes.push_back(note_of_unknown(*keys));
  if (!search.notes.empty()) return search;
  if (std::string note = note_of_pickles(file); !note.empty())
    search.notes.push_back(std::move(note));
  return search;
}

}  // namespace

Survey survey_lmdb_file(const InputFile& file, std::optional<Dialect> wanted,
                        const WalkProgress& progress) {
  if (wanted && is_layout(*wanted))
    return LayoutSurvey(file, lmdb::facts_of(*wanted), progress).run();
  LayoutSearch search;
  if (!wanted) {
    search = find_layout(file, progress);
    if (search.survey) return std::move(*search.survey);
  }
  Survey survey = survey_entries(file, wanted.value_or(Dialect::plain), progress);
  survey.notes.insert(survey.notes.end(), search.notes.begin(), search.notes.end());
  return survey;
}

}  // namespace shale
