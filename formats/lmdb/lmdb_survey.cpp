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
#include "shale/base/shell_word.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/format/format.hpp"
#include "shale/format/key_pattern.hpp"
#include "shale/layouts/first_values.hpp"
#include "shale/layouts/keyed_samples.hpp"
#include "shale/layouts/map_survey.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/layouts/named_samples.hpp"
#include "shale/layouts/near_misses.hpp"
#include "shale/layouts/pickled_value.hpp"
#include "shale/layouts/value_layout.hpp"
#include "shale/layouts/value_reader.hpp"

#include "formats/lmdb/lmdb_databases.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_scan.hpp"
#include "formats/lmdb/lmdb_tree.hpp"

namespace shale {
namespace {

using layouts::FirstValue;
using layouts::LayoutFacts;
using layouts::LayoutField;
using lmdb::MetaPage;
using lmdb::TreeEntry;

using layouts::kPlainHint;

// For damage that a schema hangs on.
Error fields_unknown(const Finding& damage, const InputFile& file) {
  Error error(Code::damaged, "cannot determine the fields: {}", damage.message);
  error.at(file.path(), damage.offset);
  return error;
}

void walk_entries(const InputFile& file, std::string_view database,
                  const lmdb::TreeWalkOptions& options, const lmdb::EntrySink& entries,
                  const FindingSink& findings) {
  const MetaPage meta = lmdb::meta_of_database(file, database, findings);
  const SparseReading sparse(file);
  (void)lmdb::walk_trees(file, meta, options, entries, findings);
}

Survey survey_entries(const InputFile& file, std::string_view database, Dialect dialect,
                      const WalkProgress& progress) {
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
  layouts::ValueReader values(file, layouts::ValueReads::headers, pace);
  layouts::MapSurvey maps;
  layouts::KeyNumbers numbers;
  const lmdb::EntrySink entries = [&](const TreeEntry& entry) {
    if ((entry.flags & lmdb::kSubData) != 0) throw lmdb::holds_databases(file);
    if (!is_parsed) return;
    values.enter(entry);
    const layouts::StoredValue value{values.view(), entry.value_offset, entry.value_bytes,
                                     file.path()};
    if (layouts::describes_file(as_text(entry.key), value)) return;
    maps.add(as_text(entry.key), value);
    numbers.add(as_text(entry.key));
  };
  walk_entries(file, database, {.prefetches_values = is_parsed, .pace = &pace}, entries, findings);
  if (is_parsed && maps.count() == 0) {
    throw Error(Code::unsupported, "has no entries, so there is no map to take fields from")
        .at(file.path())
        .hint(kPlainHint);
  }

  if (is_parsed) {
    Survey survey = std::move(maps).survey(file.path());
    if (!lmdb::has_sorted_duplicates(file, database)) survey.layout.keys = numbers.pattern();
    return survey;
  }
  return Survey::of_one_file({.fields = {{.name = "value", .kind = Kind::bytes}}}, dialect);
}

// Learns the schema from the values of all samples.
class LayoutSurvey {
 public:
  LayoutSurvey(const InputFile& file, std::string_view database, const LayoutFacts& layout,
               const WalkProgress& progress)
      : file_(file),
        database_(database),
        layout_(layout),
        progress_(progress),
        pace_(progress_, file.size()),
        // Frames of a video follow one another closely.
        value_(
            file,
            layout.has_videos ? layouts::ValueReads::up_to_headers : layouts::ValueReads::headers,
            pace_) {}

  Survey run() {
    std::vector<std::string> classes;
    if (layout_.described_by.empty()) {
      walk();
    } else {
      classes = read_listed();
    }
    Survey survey =
        common_.is_empty() ? Survey::of_one_file(usual_fields(), layout_.dialect) : common_fields();
    survey.classes = std::move(classes);
    if (layout_.is_by_number && !lmdb::has_sorted_duplicates(file_, database_))
      survey.layout.keys = numbers_.pattern();
    if (!class_name_.empty()) {
      survey.notes.push_back(
          fmt::format("the values are objects of '{}', whose attributes are the fields; the class "
                      "itself is not used, and nothing of a pickle is run",
                      class_name_));
    }
    try {
      validate_schema(survey.schema);
    } catch (const Error& error) {
      throw layouts::not_of_layout(layout_, error.message()).at(file_.path()).hint(kPlainHint);
    }
    return survey;
  }

 private:
  Survey common_fields() try {
    return std::move(common_).survey(layout_.dialect);
  } catch (const Error& error) {
    Error again = layouts::not_of_layout(layout_, error.message());
    if (error.sample()) again.for_sample(error.sample()->key, 0);
    throw again.at(file_.path()).hint(kPlainHint);
  }

  // Of a file without samples.
  [[nodiscard]] Schema usual_fields() const {
    if (!layout_.has_usual_fields) {
      throw layouts::not_of_layout(layout_, "the file has no samples to take fields from")
          .at(file_.path());
    }
    const bool are_videos = layout_.has_videos;
    return {.fields = {{.name = are_videos ? "frames" : "image",
                        .kind = are_videos ? Kind::list : Kind::bytes},
                       {.name = "label", .kind = Kind::integer}}};
  }

  void walk() {
    const FindingSink findings = [this](const Finding& finding) {
      throw fields_unknown(finding, file_);
    };
    walk_entries(
        file_, database_, {.prefetches_values = true, .pace = &pace_},
        [this](const TreeEntry& entry) { take(entry, as_text(entry.key)); }, findings);
  }

  std::vector<std::string> read_listed() {
    std::optional<SparseReading> sparse;
    if (!layout_.has_videos) sparse.emplace(file_);
    const layouts::NamedSamples listed(lmdb::keyed_file(file_), database_, layout_);
    listed.for_each([&](const layouts::NamedSample& sample) {
      pace_.step_to_row(samples_, listed.samples());
      const KeyMapEntry entry = listed.entry_of(sample);
      take(layouts::extent_of(entry), sample.key);
    });
    return listed.classes();
  }

  void take(const layouts::ValueExtent& entry, std::string_view key) {
    value_.enter(entry);
    const layouts::StoredValue value{value_.view(), entry.value_offset, entry.value_bytes,
                                     file_.path()};
    if (layout_.may_be_described && layouts::describes_file(key, value)) return;
    try {
      common_.add(layout_.parse(value), key);
    } catch (const Error& error) {
      if (error.code() == Code::io) throw;
      throw layouts::not_of_layout(layout_, error.message())
          .at(file_.path(), error.offset().value_or(entry.value_offset))
          .for_sample(key, samples_)
          .hint(kPlainHint);
    }
    if (layout_.is_by_number && samples_ == 0) class_name_ = layouts::class_of_pickle(value);
    numbers_.add(key);
    ++samples_;
  }

  const InputFile& file_;
  std::string_view database_;
  const LayoutFacts& layout_;
  const WalkProgress& progress_;
  WalkPace pace_;
  layouts::ValueReader value_;
  layouts::CommonFields common_;
  layouts::KeyNumbers numbers_;
  std::string class_name_;  // of the first value, if it is an object
  std::uint64_t samples_ = 0;
};

// Of a file whose first value is a pickle; else empty.
std::string note_of_pickles(const InputFile& file, std::string_view database,
                            const WalkProgress& progress) {
  std::string note;
  try {
    const FirstValue first(file, lmdb::opener_of(file, database));
    if (!first.looks(layouts::looks_pickled)) return {};
    note = "read as plain entries; the values are pickles, whose fields cannot be read: ";
    const std::vector<LayoutField> fields = layouts::facts_of(Dialect::pickle).parse(first.value());
    const bool is_held = std::ranges::any_of(fields, &std::string::empty, &LayoutField::fault);
    if (!is_held && !fields.empty()) return note + fields.front().fault;
    note.clear();
    (void)LayoutSurvey(file, database, layouts::facts_of(Dialect::pickle), progress).run();
    return note;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return note.empty() ? layouts::note_of(error) : note + error.message();
  }
}

// What came of comparing a file with all layouts.
struct LayoutSearch {
  std::optional<Survey> survey = {};    // of the layout that it has; nullopt: none
  std::vector<std::string> notes = {};  // why it is none that it seems to be, a sentence each
};

// Errors: Code::unsupported, naming both, for a file that two layouts fit; Code::io.
LayoutSearch find_layout(const InputFile& file, std::string_view database,
                         const WalkProgress& progress) {
  LayoutSearch search;
  std::vector<Error> near_misses;
  const auto keys = layouts::meta_keys_in(lmdb::opener_of(file, database));
  if (!keys) return search;
  bool is_described = keys->empty();
  for (const LayoutFacts& layout : layouts::all_layouts()) {
    if (!std::equal(keys->begin(), keys->end(), layout.described_by.begin(),
                    layout.described_by.end()))
      continue;
    is_described = true;
    try {
      Survey survey = LayoutSurvey(file, database, layout, progress).run();
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
  // Pickles of any fields may be described, too.
  const std::span<const std::string_view> described = layouts::meta_keys().first(2);
  if (!keys->empty() && std::ranges::includes(described, *keys)) {
    try {
      const LayoutFacts& pickles = layouts::facts_of(Dialect::pickle);
      search.survey = LayoutSurvey(file, database, pickles, progress).run();
      return search;
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
    }
  }
  search.notes = layouts::notes_of(near_misses);
  if (!is_described) search.notes.push_back(layouts::note_of_unknown(*keys));
  if (!search.notes.empty()) return search;
  if (std::string note = note_of_pickles(file, database, progress); !note.empty())
    search.notes.push_back(std::move(note));
  return search;
}

// What a file holds by its keys. What no pattern takes is left out.
Survey survey_by_keys(const InputFile& file, std::string_view keys, std::string_view database,
                      const WalkProgress& progress) {
  const layouts::KeyedSamples keyed(lmdb::keyed_file(file), keys, database);
  WalkPace pace(progress, file.size());
  layouts::ValueReader values(file, layouts::ValueReads::headers, pace);
  const SparseReading sparse(file);
  layouts::CommonFields common;
  std::uint64_t samples = 0;
  keyed.for_each([&](const layouts::KeyedSample& sample) {
    pace.step_to_row(samples, keyed.expected());
    try {
      common.add(layouts::fields_of(sample, keyed.pattern(), nullptr, values, file.path()));
    } catch (Error& error) {
      error.for_sample(sample.key, samples);
      throw;
    }
    ++samples;
  });
  LeftOutList left_out;
  std::uint64_t others = 0;
  for (const std::string& name : keyed.databases()) {
    const FindingSink findings = [&](const Finding& finding) {
      throw fields_unknown(finding, file);
    };
    const lmdb::EntrySink entries = [&](const TreeEntry& entry) {
      const std::string_view key = as_text(entry.key);
      if (keyed.takes(name, key, samples)) return;
      // Each has a name of its own: what is known is not looked for again.
      if (++others > LeftOutList::kMost) {
        ++left_out.more;
        return;
      }
      left_out.add({.kind = (entry.flags & lmdb::kSubData) != 0 ? "database" : "entry",
                    .name = std::string(key),
                    .reason = keys.empty() ? "no_partner" : "no_pattern",
                    .samples = {}});
    };
    (void)lmdb::walk_trees(file, lmdb::meta_of_database(file, name, findings), {}, entries,
                           findings);
  }
  for (const KeyField& field : keyed.pattern().fields) {
    const bool is_first_of_none = samples == 0 && &field == &keyed.pattern().fields.front();
    if (!is_first_of_none && common.find(field.name, 0) != nullptr) continue;
    throw Error(Code::unsupported, "no entry has a key like '{}', of field '{}'",
                printable(field.key_of(field.is_numbered ? field.text_of(keyed.pattern().from)
                                                         : std::string("KEY"))),
                printable(field.name))
        .at(file.path())
        .hint("pass --parse plain to see the keys: 'shale ls FILE --parse plain --keys escaped'");
  }
  Survey survey = std::move(common).survey(Dialect::keys);
  survey.layout.keys = keys;
  survey.layout.database = database;
  if (others > 0) {
    survey.notes.push_back(fmt::format(
        "{} {} left out, such as '{}': {}", others, others == 1 ? "entry is" : "entries are",
        printable(left_out.entries.front().name),
        keys.empty() ? "the first database has no such key" : "no sample of --parse has them"));
  }
  survey.left_out = std::move(left_out);
  return survey;
}

// nullopt: the keys say nothing, or what they say is not what the file is.
std::optional<Survey> survey_recognized_keys(const InputFile& file, const std::string& database,
                                             const WalkProgress& progress) {
  try {
    const std::optional<KeyPattern> pattern =
        layouts::recognize_keys(lmdb::keyed_file(file), database);
    if (!pattern) return std::nullopt;
    const std::string keys = text_of(*pattern);
    Survey survey = survey_by_keys(file, keys, database, progress);
    survey.notes.push_back(
        fmt::format("samples are found by their keys, as with --parse {}", shell_word(keys)));
    return survey;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return std::nullopt;  // the survey of its entries says more
  }
}

// Of a file whose values are msgpack maps; else nullopt, with a note where the first one is.
std::optional<Survey> survey_recognized_maps(const InputFile& file, const std::string& database,
                                             const WalkProgress& progress,
                                             std::vector<std::string>& notes) {
  const FirstValue first(file, lmdb::opener_of(file, database));
  if (!first.looks(layouts::looks_like_map)) return std::nullopt;
  try {
    return survey_entries(file, database, Dialect::msgpack, progress);
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    // Other values may begin like a map, too: of the first one all has to be it.
    const bool is_first = !error.sample() || error.sample()->index.value_or(0) == 0;
    if (!is_first || layouts::is_map_of_fields(first.value()))
      notes.push_back(layouts::note_of(error));
    return std::nullopt;
  }
}

Survey survey_database(const InputFile& file, const std::string& database,
                       std::optional<Dialect> wanted, const WalkProgress& progress) {
  if (wanted && is_layout(*wanted))
    return LayoutSurvey(file, database, layouts::facts_of(*wanted), progress).run();
  LayoutSearch search;
  layouts::ValuePacking packing;
  if (!wanted) {
    search = find_layout(file, database, progress);
    if (search.survey) return std::move(*search.survey);
    auto maps = survey_recognized_maps(file, database, progress, search.notes);
    if (maps) return std::move(*maps);
    packing = layouts::packing_of_values(file, lmdb::opener_of(file, database));
    auto keyed = survey_recognized_keys(file, database, progress);
    if (keyed && (!packing.is_any() || keyed->schema.fields.size() > 1)) return std::move(*keyed);
  }
  Survey survey = survey_entries(file, database, wanted.value_or(Dialect::plain), progress);
  if (!packing.is_any()) {
    survey.notes.insert(survey.notes.end(), search.notes.begin(), search.notes.end());
    std::string more = wanted ? "" : layouts::note_of_json(file, lmdb::opener_of(file, database));
    if (more.empty() && !wanted)
      more = layouts::note_of_kinds(file, lmdb::opener_of(file, database));
    if (!more.empty()) survey.notes.push_back(std::move(more));
    return survey;
  }
  if (packing.is_of_lists()) survey.notes = std::move(search.notes);
  survey.notes.push_back(
      fmt::format("the values are {}; 'shale convert {} OUT --to record' makes fields of them",
                  packing.what_values_are(), shell_word(file.path())));
  survey.left_out.add({"entry", "value", "compressed", std::nullopt});
  return survey;
}

}  // namespace

Survey survey_lmdb_file(const InputFile& file, const Parsing& parsing,
                        const WalkProgress& progress) {
  const std::optional<Dialect> wanted = parsing.dialect;
  if (wanted == Dialect::keys || parsing.database.find(',') != std::string::npos) {
    if (wanted.value_or(Dialect::keys) != Dialect::keys) {
      throw Error(Code::usage, "--parse {} does not go with several databases", name_of(*wanted))
          .hint("name one database, or leave out --parse: each value is then one field");
    }
    return survey_by_keys(file, parsing.keys, parsing.database, progress);
  }
  const bool is_chosen = !parsing.database.empty();
  const std::string database = is_chosen ? parsing.database : lmdb::only_database(file);
  Survey survey = survey_database(file, database, wanted, progress);
  survey.layout.database = database;
  if (lmdb::has_sorted_duplicates(file, database)) {
    survey.notes.emplace_back(
        "its keys may have several values (MDB_DUPSORT): each value is a sample under its key");
  }
  if (!is_chosen && !database.empty()) {
    survey.notes.push_back(lmdb::note_of_only_database(database));
  }
  return survey;
}

}  // namespace shale
