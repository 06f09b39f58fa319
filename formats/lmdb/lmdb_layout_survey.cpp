#include "formats/lmdb/lmdb_layout_survey.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/format/finding_draft.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"
#include "formats/lmdb/lmdb_layout.hpp"
#include "formats/lmdb/lmdb_listed.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_pickled.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_value.hpp"

namespace shale {
namespace {

using lmdb::LayoutField;
using lmdb::TreeEntry;

// Every key that describes a file in some layout.
constexpr std::string_view kMetaKeys[] = {"__keys__", "__len__", "__order__", "__vlen__"};

// Learns the schema from the values of all samples.
class LayoutSurvey {
 public:
  LayoutSurvey(const InputFile& file, Dialect layout, const WalkProgress& progress)
      : file_(file),
        layout_(layout),
        progress_(progress),
        pace_(progress_, file.size()),
        // Frames of a video follow one another closely.
        value_(
            file,
            layout == Dialect::coclr ? lmdb::ValueReads::up_to_headers : lmdb::ValueReads::headers,
            pace_) {}

  Survey run() {
    std::vector<std::string> classes;
    if (lmdb::facts_of(layout_).described_by.empty()) {
      walk();
    } else {
      classes = read_listed();
    }
    if (fields_.empty()) take_usual_fields();
    Survey survey = Survey::of_one_file({.fields = std::move(fields_)}, layout_);
    survey.classes = std::move(classes);
    return survey;
  }

 private:
  // Of a file without samples.
  void take_usual_fields() {
    const bool has_usual =
        !lmdb::facts_of(layout_).described_by.empty() && layout_ != Dialect::tensorpack;
    if (!has_usual) {
      throw lmdb::not_of_layout(layout_, "the file has no samples to take fields from")
          .at(file_.path());
    }
    const bool are_videos = layout_ == Dialect::coclr;
    fields_ = {
        {.name = are_videos ? "frames" : "image", .kind = are_videos ? Kind::list : Kind::bytes},
        {.name = "label", .kind = Kind::integer}};
  }

  void walk() {
    const FindingSink findings = [this](const Finding& finding) {
      throw fields_unknown(finding, file_);
    };
    const lmdb::MetaPage meta = lmdb::read_live_meta(file_, findings);
    lmdb::refuse_sorted_duplicates(meta, file_);
    const SparseReading sparse(file_);
    (void)lmdb::walk_trees(
        file_, meta, {.prefetches_values = true, .pace = &pace_},
        [this](const TreeEntry& entry) { take(entry, as_text(entry.key)); }, findings);
  }

  std::vector<std::string> read_listed() {
    std::optional<SparseReading> sparse;
    if (layout_ != Dialect::coclr) sparse.emplace(file_);
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
      const std::vector<LayoutField> found = lmdb::facts_of(layout_).parse(
          {value_.view(), entry.value_offset, entry.value_bytes, file_.path()});
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
          .hint("--parse plain reads each value as one field of bytes");
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
  Dialect layout_;
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

// Of the first entry.
bool has_pickles(const InputFile& file) try {
  const auto map = open_lmdb_map(file);
  const auto cursor = map->cursor();
  if (!cursor->first()) return false;
  const std::optional<KeyMapEntry> entry = cursor->current();
  WindowReader window(file, 4096);
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return window.view(offset, length);
  };
  return entry && !entry->is_database &&
         lmdb::looks_pickled(view, entry->value_offset, entry->value_bytes);
} catch (const Error& error) {
  if (!is_about_bytes(error)) throw;
  return false;
}

}  // namespace

std::string type_text(const Field& field) {
  return field.kind == Kind::tensor ? "a tensor " + array_text(field.dtype, field.shape)
                                    : std::string(name_of(field.kind));
}

Error fields_unknown(const Finding& damage, const InputFile& file) {
  Error error(Code::damaged, "cannot determine the fields: {}", damage.message);
  error.at(file.path(), damage.offset);
  return error;
}

Survey survey_lmdb_layout(const InputFile& file, Dialect layout, const WalkProgress& progress) {
  return LayoutSurvey(file, layout, progress).run();
}

LayoutSearch find_lmdb_layout(const InputFile& file, const WalkProgress& progress) {
  LayoutSearch search;
  std::vector<Error> near_misses;
  const auto keys = meta_keys_in(file);
  if (!keys) return search;
  bool is_described = keys->empty();
  for (const lmdb::LayoutFacts& layout : lmdb::all_layouts()) {
    if (!layout.is_recognized ||
        !std::equal(keys->begin(), keys->end(), layout.described_by.begin(),
                    layout.described_by.end()))
      continue;
    is_described = true;
    try {
      Survey survey = survey_lmdb_layout(file, layout.dialect, progress);
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
  if (search.notes.empty() && has_pickles(file)) {
    search.notes.emplace_back(
        "read as plain entries; the values are pickles, which --parse pickle reads if they hold "
        "plain data");
  }
  return search;
}

}  // namespace shale
