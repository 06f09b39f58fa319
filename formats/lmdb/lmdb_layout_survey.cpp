#include "formats/lmdb/lmdb_layout_survey.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"

#include "formats/lmdb/lmdb_cursor.hpp"
#include "formats/lmdb/lmdb_layout.hpp"
#include "formats/lmdb/lmdb_listed.hpp"
#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_value.hpp"

namespace shale {
namespace {

using lmdb::LayoutField;
using lmdb::TreeEntry;

// Every key that describes a file in some layout.
constexpr std::string_view kMetaKeys[] = {"__keys__", "__len__", "__order__", "__vlen__"};

std::string field_text(const Field& field) {
  return field.kind == Kind::tensor ? "a tensor " + array_text(field.dtype, field.shape)
                                    : std::string(name_of(field.kind));
}

// Learns the schema from the values of all samples.
class LayoutSurvey {
 public:
  LayoutSurvey(const InputFile& file, Dialect layout, const WalkProgress& progress)
      : file_(file),
        layout_(layout),
        progress_(progress),
        pace_(progress_, file.size()),
        // Of lists every element's header is read: that is most of the file, best in large windows.
        value_(file, layout == Dialect::coclr, pace_) {}

  Survey run() {
    std::vector<std::string> classes;
    if (lmdb::facts_of(layout_).described_by.empty()) {
      walk();
    } else {
      classes = read_listed();
    }
    if (fields_.empty()) {
      throw Error(Code::unsupported, "{}: the file has no samples to take fields from",
                  name_of(layout_))
          .at(file_.path());
    }
    Survey survey = Survey::of_one_file({.fields = std::move(fields_)}, layout_);
    survey.classes = std::move(classes);
    return survey;
  }

 private:
  void walk() {
    const FindingSink findings = [this](const Finding& finding) {
      throw Error(Code::damaged, "cannot determine the fields: {}", finding.message)
          .at(file_.path(), finding.offset);
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
    const lmdb::ListedSamples listed(file_, layout_);
    listed.for_each([&](const lmdb::ListedSample& sample) {
      pace_.step_to_row(samples_, listed.samples());
      const lmdb::ListedEntry found = listed.entry_of(sample);
      take(found.entry, sample.key);
    });
    return listed.classes();
  }

  void take(const TreeEntry& entry, std::string_view key) {
    value_.enter(entry);
    try {
      const std::vector<LayoutField> found = lmdb::parse_layout_value(
          layout_, value_.view(), entry.value_offset, entry.value_bytes, file_.path());
      if (samples_ == 0) {
        for (const LayoutField& one : found) fields_.push_back(one.field);
      } else {
        compare(found, entry.value_offset);
      }
    } catch (Error& error) {
      if (error.code() == Code::io) throw;
      throw Error(Code::unsupported, "{}: {}", name_of(layout_), error.message())
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
                  fields_[i].name, field_text(found[i].field), field_text(fields_[i]))
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

bool is_about_contents(const Error& error) {
  return error.code() == Code::damaged || error.code() == Code::unsupported ||
         error.code() == Code::limit;
}

// The keys of kMetaKeys that the file has; nullopt for a file that is damaged on the way to them.
std::optional<std::vector<std::string_view>> meta_keys_in(const InputFile& file) {
  try {
    const auto map =
        open_lmdb_map(std::shared_ptr<const InputFile>(std::shared_ptr<void>(), &file));
    std::vector<std::string_view> found;
    std::copy_if(std::begin(kMetaKeys), std::end(kMetaKeys), std::back_inserter(found),
                 [&](std::string_view key) { return map->find(as_bytes(key)).has_value(); });
    return found;
  } catch (const Error& error) {
    if (!is_about_contents(error)) throw;
    return std::nullopt;  // the survey of its entries says more
  }
}

}  // namespace

Survey survey_lmdb_layout(const InputFile& file, Dialect layout, const WalkProgress& progress) {
  return LayoutSurvey(file, layout, progress).run();
}

LayoutSearch find_lmdb_layout(const InputFile& file, const WalkProgress& progress) {
  LayoutSearch search;
  const auto keys = meta_keys_in(file);
  if (!keys) return search;
  for (const lmdb::LayoutFacts& layout : lmdb::all_layouts()) {
    if (!std::equal(keys->begin(), keys->end(), layout.described_by.begin(),
                    layout.described_by.end()))
      continue;
    try {
      Survey survey = survey_lmdb_layout(file, layout.dialect, progress);
      if (!search.survey) {
        search.survey = std::move(survey);
        continue;
      }
    } catch (const Error& error) {
      if (!is_about_contents(error)) throw;
      // Without entries that describe it nothing but its samples says that it is of this layout.
      if (!keys->empty())
        search.notes.push_back(fmt::format(
            "its entries are read as they are; its keys are those of another layout, "
            "but {}{}",
            error.sample() ? fmt::format("sample '{}': ", printable(error.sample()->key)) : "",
            error.message()));
      continue;
    }
    throw Error(Code::unsupported, "is both of layout {} and of layout {}",
                name_of(search.survey->layout.dialect), name_of(layout.dialect))
        .at(file.path())
        .hint(fmt::format("choose one: --parse {}", name_of(layout.dialect)));
  }
  if (search.survey) search.notes.clear();
  return search;
}

}  // namespace shale
