#include "shale/report/sample_survey.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "shale/flow/ordered_pipeline.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

// How much is read together: bytes, and values, each of which takes some 200 bytes more.
constexpr std::uint64_t kReadTogether = std::uint64_t{4} << 20;
constexpr std::size_t kMostTogether = 4096;
// Cells of rows that all threads look at: 100 bytes each, with what is counted in them.
constexpr std::size_t kMostCells = std::size_t{1} << 19;
constexpr std::uint64_t kLeastRows = 16;
constexpr std::size_t kMostNoted = 24;
constexpr std::uint64_t kColumnBytes = std::uint64_t{1} << 20;

// What is read of each field, and how.
struct SurveyPlan {
  struct OfField {
    std::size_t field = 0;
    std::uint64_t rows = 0;  // of positions below this
    NumberKind kind = NumberKind::none;
    std::vector<StructuredColumn> columns = {};
    std::uint64_t item_bytes = 0;
    bool is_image = false;
  };
  std::vector<OfField> fields;
  bool counts_bars = false;  // the second time
};

struct SurveyPart {
  SampleSurvey survey;
  std::vector<Finding> damage;
};

SurveyPlan plan_survey(const ReportedSet& set, const SampleRows& sample,
                       const std::vector<FieldUse>& uses,
                       std::span<const std::uint64_t> value_bytes, bool reads_images) {
  SurveyPlan plan;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Field& field = set.schema().fields[i];
    SurveyPlan::OfField of_field{.field = i, .rows = std::numeric_limits<std::uint64_t>::max()};
    of_field.columns = columns_of(field.dtype);
    if (field.kind == Kind::tensor &&
        (uses[i].kind != NumberKind::none || !of_field.columns.empty())) {
      of_field.kind = uses[i].kind;
      of_field.item_bytes = field.dtype.item_bytes();
      const std::uint64_t bytes = std::max<std::uint64_t>(1, value_bytes[i]);
      if (!sample.is_all() || set.request().sample != 0)
        of_field.rows = std::max(kLeastRows, kBytesOfField / bytes);
      plan.fields.push_back(of_field);
    } else if (reads_images && uses[i].holds_images() && field.kind == Kind::bytes) {
      of_field.is_image = true;
      plan.fields.push_back(of_field);
    }
  }
  return plan;
}

void note(std::vector<std::uint64_t>& rows, std::uint64_t row) {
  if (rows.size() < kMostNoted) rows.push_back(row);
}

void take_image(SampleSurvey& survey, std::uint64_t row, Bytes bytes, bool is_first) {
  const ImageInfo info = probe_image(bytes, {});
  if (!info.fault.empty()) note(survey.damaged, row);
  if (!is_first) return;
  ++survey.looked_at;
  ++survey.images.types[std::string(name_of(info.type))];
  for (const std::string_view odd : info.odd) ++survey.images.odd[std::string(odd)];
  survey.odd_images += info.odd.empty() ? 0 : 1;
  if (!info.odd.empty()) note(survey.odd, row);
  if (info.width > 0 && info.height > 0) survey.images.sizes.count(info.width, info.height);
}

// Values that are read at once.
class Reading {
 public:
  Reading(ReportedSet& set, const SurveyPlan& plan, const SampleSurvey& known, SurveyPart& part)
      : set_(set), plan_(plan), part_(part), known_(known) {}

  void add(const SurveyPlan::OfField& field, const LocatedSample& sample) {
    const FieldPlace& place = sample.place.cells[field.field].place;
    SampleSurvey::OfField& of_field = part_.survey.fields[field.field];
    if (place.offset == kMissing) return;
    if (place.length > set_.most_value_bytes()) {
      ++of_field.too_large;
      return;
    }
    if (bytes_ + place.length > kReadTogether || wanted_.size() == kMostTogether) read();
    ++of_field.looked_at;
    wanted_.push_back({&sample, field.field, {}});
    fields_.push_back(&field);
    bytes_ += place.length;
  }

  void read() {
    if (wanted_.empty()) return;
    const SharedBudget::Hold hold = set_.values_budget().acquire(bytes_);
    ReadValues values = read_values(set_.loader(), wanted_);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      ReadValue& value = values.values[i];
      const std::uint64_t row = wanted_[i].sample->row;
      if (value.damage) {
        note(part_.survey.damaged, row);
        part_.damage.push_back(std::move(*value.damage));
        continue;
      }
      take(*fields_[i], row, value.bytes);
    }
    wanted_.clear();
    fields_.clear();
    bytes_ = 0;
  }

 private:
  void take(const SurveyPlan::OfField& field, std::uint64_t row, Bytes bytes) {
    SampleSurvey::OfField& of_field = part_.survey.fields[field.field];
    if (field.is_image) return take_image(part_.survey, row, bytes, &field == &first_image());
    const SampleSurvey::OfField& known = known_.fields[field.field];
    if (field.columns.empty()) return take_numbers(of_field, &known, field.kind, bytes);
    of_field.columns.resize(field.columns.size());
    // Column by column of a few elements: no value is held twice.
    const std::uint64_t at_once =
        std::max<std::uint64_t>(1, kColumnBytes / field.item_bytes) * field.item_bytes;
    for (std::uint64_t at = 0; at < bytes.size(); at += at_once) {
      const Bytes elements = bytes.subspan(at, std::min<std::uint64_t>(at_once, bytes.size() - at));
      for (std::size_t i = 0; i < field.columns.size(); ++i) {
        const StructuredColumn& column = field.columns[i];
        if (column.kind == NumberKind::none) continue;
        take_numbers(of_field.columns[i], plan_.counts_bars ? &known.columns[i] : nullptr,
                     column.kind, bytes_of_column(column, field.item_bytes, elements));
      }
    }
  }

  // `known`: what the first walk found, for the second.
  void take_numbers(NumberSummary& into, const NumberSummary* known, NumberKind kind,
                    Bytes bytes) const {
    if (!plan_.counts_bars) return into.numbers.count(kind, bytes);
    if (into.bins.is_empty()) into.bins = known->bins.emptied();
    count_into(into.bins, kind, bytes);
  }

  [[nodiscard]] const SurveyPlan::OfField& first_image() const {
    return *std::ranges::find(plan_.fields, true, &SurveyPlan::OfField::is_image);
  }

  ReportedSet& set_;
  const SurveyPlan& plan_;
  SurveyPart& part_;
  const SampleSurvey& known_;
  std::vector<Fetch> wanted_;
  std::vector<const SurveyPlan::OfField*> fields_;
  std::uint64_t bytes_ = 0;
};

SurveyPart survey_rows(ReportedSet& set, const SurveyPlan& plan, const SampleSurvey& known,
                       const std::vector<DrawnRow>& drawn) {
  SurveyPart part;
  part.survey.fields.resize(set.schema().fields.size());
  std::vector<std::uint64_t> rows;
  rows.reserve(drawn.size());
  for (const DrawnRow& row : drawn) rows.push_back(row.row);
  FoundRows found = find_rows(set.loader(), rows);
  part.damage = std::move(found.damage);
  Reading reading(set, plan, known, part);
  for (const SurveyPlan::OfField& field : plan.fields) {
    std::size_t next = 0;
    for (const LocatedSample& sample : found.samples) {
      while (drawn[next].row != sample.row) ++next;
      if (drawn[next].position < field.rows) reading.add(field, sample);
    }
  }
  reading.read();
  return part;
}

void merge(SampleSurvey& into, SampleSurvey part) {
  for (std::size_t i = 0; i < into.fields.size(); ++i) {
    SampleSurvey::OfField& field = into.fields[i];
    field.looked_at += part.fields[i].looked_at;
    field.too_large += part.fields[i].too_large;
    field.numbers.add(part.fields[i].numbers);
    field.bins.add(part.fields[i].bins);
    if (field.columns.empty()) field.columns.resize(part.fields[i].columns.size());
    for (std::size_t column = 0; column < part.fields[i].columns.size(); ++column) {
      field.columns[column].numbers.add(part.fields[i].columns[column].numbers);
      field.columns[column].bins.add(part.fields[i].columns[column].bins);
    }
  }
  into.images.add(part.images);
  into.looked_at += part.looked_at;
  into.odd_images += part.odd_images;
  for (const std::uint64_t row : part.odd) note(into.odd, row);
  for (const std::uint64_t row : part.damaged) note(into.damaged, row);
}

// As many as asked for, or as many as very many fields leave room for.
unsigned survey_jobs(const ReportedSet& set) {
  const std::size_t fields = std::max<std::size_t>(1, set.schema().fields.size());
  return static_cast<unsigned>(
      std::clamp<std::size_t>(kMostCells / (SampleRows::kAtOnce * fields), 1, set.request().jobs));
}

std::size_t rows_together(const ReportedSet& set) {
  const std::size_t fields = std::max<std::size_t>(1, set.schema().fields.size());
  return std::clamp<std::size_t>(kMostCells / fields, 1, SampleRows::kAtOnce);
}

SampleSurvey walk(ReportedSet& set, const SampleRows& sample, const SurveyPlan& plan,
                  const SampleSurvey& known) {
  SampleSurvey survey;
  survey.fields.resize(set.schema().fields.size());
  std::uint64_t most_rows = 0, done = 0;
  for (const SurveyPlan::OfField& field : plan.fields) most_rows = std::max(most_rows, field.rows);
  const std::size_t at_once = rows_together(set);
  const unsigned jobs = survey_jobs(set);
  OrderedPipeline<SurveyPart> pipeline(jobs);
  const auto take = [&] {
    SurveyPart part = pipeline.take();
    for (Finding& finding : part.damage) set.meet(std::move(finding));
    merge(survey, std::move(part.survey));
  };
  sample.for_each([&](std::vector<DrawnRow> rows) {
    set.events().stop_if_asked();
    set.events().report(done += rows.size(), sample.size(), 0);
    std::erase_if(rows, [&](const DrawnRow& row) { return row.position >= most_rows; });
    for (std::size_t begin = 0; begin < rows.size(); begin += at_once) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begin);
      std::vector<DrawnRow> some(
          first, first + static_cast<std::ptrdiff_t>(std::min(at_once, rows.size() - begin)));
      while (pipeline.pending() > 2 * jobs) take();
      pipeline.submit(
          [&, some = std::move(some)](unsigned) { return survey_rows(set, plan, known, some); });
    }
  });
  while (pipeline.pending() > 0) take();
  return survey;
}

}  // namespace

SampleSurvey survey_samples(ReportedSet& set, const SampleRows& sample,
                            const std::vector<FieldUse>& uses,
                            std::span<const std::uint64_t> value_bytes, bool reads_images) {
  SurveyPlan plan = plan_survey(set, sample, uses, value_bytes, reads_images);
  SampleSurvey survey;
  survey.fields.resize(uses.size());
  if (plan.fields.empty()) return survey;
  survey = walk(set, sample, plan, survey);
  std::erase_if(plan.fields, [](const auto& field) { return field.is_image; });
  if (plan.fields.empty()) return survey;
  for (const SurveyPlan::OfField& field : plan.fields) {
    SampleSurvey::OfField& of_field = survey.fields[field.field];
    of_field.begin_bins(is_whole(field.kind));
    for (std::size_t i = 0; i < of_field.columns.size(); ++i)
      of_field.columns[i].begin_bins(is_whole(field.columns[i].kind));
  }
  plan.counts_bars = true;
  SampleSurvey again = walk(set, sample, plan, survey);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    SampleSurvey::OfField& of_field = survey.fields[i];
    of_field.bins = std::move(again.fields[i].bins);
    for (std::size_t column = 0; column < again.fields[i].columns.size(); ++column)
      of_field.columns[column].bins = std::move(again.fields[i].columns[column].bins);
  }
  return survey;
}

}  // namespace shale
