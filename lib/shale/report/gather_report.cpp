#include "shale/report/gather_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/report/class_scan.hpp"
#include "shale/report/contact_sheets.hpp"
#include "shale/report/field_scan.hpp"
#include "shale/report/previews.hpp"
#include "shale/report/set_facts.hpp"
#include "shale/report/snippets.hpp"
#include "shale/verify/verify.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRandomSamples = 24;
constexpr std::uint64_t kPreviews = 6;
constexpr std::string_view kNotNumbers =
    "its elements are not numbers: only their sizes were looked at";

IntegrityFacts verify_set(const ReportRequest& request, const Events& events) {
  IntegrityFacts facts;
  facts.command = fmt::format("shale verify {}", shell_word(request.dataset));
  if (!request.verifies) return facts;
  const VerifyReport report = verify(
      {.dataset = request.dataset,
       .depth = VerifyDepth::full,
       .against = {},
       .labels_file = {},
       .index_folder = request.index_folder,
       .proves_container = true,
       .generator = request.generator,
       .jobs = request.jobs,
       .memory_bytes = request.memory_bytes},
      [](const Finding&) {}, events);
  facts.shards = report.shards;
  facts.samples = report.samples;
  facts.bytes = report.bytes;
  facts.finding_count = report.findings;
  facts.findings = report.first_findings;
  facts.notes = report.notes;
  facts.state = report.findings > 0                                ? VerifyState::damaged
                : report.proves_payload || report.proves_container ? VerifyState::sound
                                                                   : VerifyState::unproven;
  return facts;
}

// What the walks over the index bring.
struct Walked {
  FieldScan fields;
  std::optional<ClassScan> classes;
  std::vector<PlannedSheet> sheets;  // a row per class
  SampledFrom from;
  bool is_all = false;
};

PlannedSheet class_sheet(const ReportedSet& set, std::int64_t label, std::uint64_t count,
                         const ClassRows& rows) {
  PlannedSheet sheet;
  sheet.sheet.kind = SheetKind::of_class;
  sheet.sheet.caption = fmt::format("class {}", label);
  sheet.sheet.label = label;
  sheet.sheet.class_name = set.class_name(label);
  sheet.sheet.of_samples = count;
  sheet.rows = rows.rows_of(label);
  return sheet;
}

Walked walk_index(ReportedSet& set, const SampleRows& sample) {
  const std::vector<Field>& fields = set.schema().fields;
  const std::optional<std::size_t> label = set.label_field();
  Walked walked{.fields = FieldScan(set), .classes = {}, .sheets = {}, .from = {}, .is_all = false};
  if (label) walked.classes.emplace(set);
  ColumnScan scan(set, sample);
  scan.walk(std::vector<bool>(fields.size(), true), [&](const ScannedRows& rows) {
    walked.fields.take(rows);
    if (label) walked.classes->take(rows, *label);
  });
  walked.from = scan.from();
  walked.is_all = scan.is_all();
  const bool has_classes = label && walked.classes->has_classes();
  std::vector<std::int64_t> shown;
  if (has_classes) shown = shown_classes(walked.classes->counts(), kSheetClasses);
  ClassRows class_rows(sample, shown, kSheetColumns);
  std::vector<bool> numbers(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) numbers[i] = !is_located(fields[i].kind);
  walked.fields.begin_bins();
  if (std::ranges::find(numbers, true) == numbers.end()) return walked;
  scan.walk(numbers, [&](const ScannedRows& rows) {
    walked.fields.take_again(rows);
    if (has_classes) class_rows.take(rows, *label);
  });
  for (const std::int64_t one : shown)
    walked.sheets.push_back(class_sheet(set, one, walked.classes->counts().at(one), class_rows));
  return walked;
}

void put_numbers(FieldFacts& facts, std::string_view descr, const NumberCounts& numbers,
                 const WidthBins& bins) {
  facts.has_numbers = true;
  if (number_kind_of(descr) == NumberKind::time) facts.times = descr;
  facts.values = numbers.values();
  facts.nan_count = numbers.nan_count();
  facts.infinite_count = numbers.infinite_count();
  facts.zero_count = numbers.zero_count();
  if (numbers.finite_count() > 0) {
    facts.minimum = numbers.minimum();
    facts.maximum = numbers.maximum();
    if (std::isfinite(numbers.mean())) facts.mean = numbers.mean();
    if (std::isfinite(numbers.deviation())) facts.deviation = numbers.deviation();
    facts.least_whole = numbers.least_whole();
    facts.most_whole = numbers.most_whole();
    facts.is_constant = numbers.finite_count() == numbers.values() &&
                        numbers.minimum() == numbers.maximum() &&
                        facts.least_whole == facts.most_whole;
  }
  facts.histogram = {.name = facts.name,
                     .unit = {},
                     .is_logarithmic = false,
                     .bars = bins.bars(),
                     .from = facts.from,
                     .times = facts.times};
}

// Of a structured type.
std::vector<FieldFacts> column_facts(const FieldFacts& whole, const Field& field,
                                     const SampleSurvey::OfField& of_field) {
  std::vector<FieldFacts> all;
  for (const StructuredColumn& column : columns_of(field.dtype)) {
    FieldFacts facts;
    facts.name = column.name;
    facts.kind = whole.kind;
    facts.role = column.shape.empty() ? FieldRole::number : FieldRole::array;
    facts.dtype = dtype_text(column.descr);
    facts.shape = column.shape;
    facts.from = {of_field.looked_at, whole.from.of};
    const std::size_t number = all.size();
    if (column.kind == NumberKind::none)
      facts.note = kNotNumbers;
    else if (number < of_field.columns.size())
      put_numbers(facts, column.descr, of_field.columns[number].numbers,
                  of_field.columns[number].bins);
    all.push_back(std::move(facts));
  }
  return all;
}

FieldFacts field_facts(const ReportedSet& set, std::size_t number, const FieldUse& use,
                       const Walked& walked, const SampleSurvey& survey) {
  const Field& field = set.schema().fields[number];
  const FieldScan::Column& column = walked.fields.columns()[number];
  FieldFacts facts;
  facts.name = field.name;
  facts.kind = name_of(field.kind);
  facts.role = use.role;
  facts.shape = field.shape;
  facts.from = walked.from;
  facts.missing = column.missing;
  facts.bytes = column.bytes;
  facts.least_bytes = column.least;
  facts.most_bytes = column.most;
  if (field.kind == Kind::tensor) facts.dtype = dtype_text(field.dtype);
  if (field.kind == Kind::integer || field.kind == Kind::real) {
    facts.dtype = dtype_text(dtype_of_column(field));
    put_numbers(facts, dtype_of_column(field).descr(), column.numbers, column.bins);
  }
  const SampleSurvey::OfField& of_field = survey.fields[number];
  if (field.kind != Kind::tensor) return facts;
  facts.columns = column_facts(facts, field, of_field);
  if (use.kind == NumberKind::none && facts.columns.empty()) {
    facts.note = kNotNumbers;
    return facts;
  }
  facts.from.looked_at = of_field.looked_at;
  if (!facts.columns.empty()) return facts;
  put_numbers(facts, field.dtype.descr(), of_field.numbers, of_field.bins);
  if (of_field.too_large > 0)
    facts.note = fmt::format("{} too large to be read", of_field.too_large);
  return facts;
}

ReportFacts describe_set(const ReportedSet& set, const SampleRows& sample) {
  const ReportRequest& request = set.request();
  ReportFacts facts;
  facts.generator = request.generator;
  facts.path = request.dataset;
  facts.format = set.manifest().format;
  facts.what = what_it_is(set);
  facts.samples = set.samples();
  facts.payload_bytes = set.manifest().payload_bytes;
  for (const std::string& note : set.loader().notes()) facts.notes.push_back(printable(note));
  facts.options = {
      {"sample", sample.is_all() && request.sample == 0 ? std::string("all")
                                                        : std::to_string(request.sample)},
      {"verify", request.verifies ? "yes" : "no"}};
  facts.looked_at = {sample.size(), set.samples()};
  return facts;
}

template <class Make>
void try_to(ReportedSet& set, Make&& make) {
  try {
    make();
  } catch (const Error& error) {
    set.meet(finding_of_damage(error));
  }
}

}  // namespace

ReportFacts gather_report(const ReportRequest& request, const Events& events) {
  IntegrityFacts integrity = verify_set(request, events);
  ReportedSet set(request, events);
  const SampleRows sample(set.samples(), request.sample);
  ReportFacts facts = describe_set(set, sample);
  const std::vector<FieldUse> uses = find_roles(set, sample);
  Walked walked = walk_index(set, sample);
  const SampleSurvey survey = survey_samples(set, sample, uses, !set.manifest().images);
  const ProvedLists lists(set);
  const NotedImages noted = read_noted_images(set, lists);
  facts.images = image_facts(set, uses, survey, noted);
  for (std::size_t i = 0; i < uses.size(); ++i)
    facts.fields.push_back(field_facts(set, i, uses[i], walked, survey));
  add_previews(set, uses, sample.first(kPreviews), facts.fields);
  facts.sample_bytes = {.name = "bytes per sample",
                        .unit = "bytes",
                        .is_logarithmic = true,
                        .bars = walked.fields.sample_bytes().bars(),
                        .from = walked.from};
  if (walked.classes) {
    facts.classes = walked.classes->classes(walked.from);
    if (walked.is_all)
      facts.order = walked.classes->order(walked.from);
    else
      facts.order.verdict = "not looked at: there are too many samples";
  } else {
    facts.order.verdict = "there are no labels";
  }
  std::vector<PlannedSheet> sheets;
  if (set.samples() > 0) {
    sheets.push_back({.sheet = {.kind = SheetKind::random, .caption = "random samples"},
                      .rows = sample.first(kRandomSamples)});
    sheets.front().sheet.of_samples = set.samples();
  }
  std::ranges::move(walked.sheets, std::back_inserter(sheets));
  std::ranges::move(plan_noted_sheets(set, survey, noted), std::back_inserter(sheets));
  facts.sheets = fill_sheets(set, uses, std::move(sheets));
  try_to(set, [&] { facts.shards = shards_facts(set); });
  try_to(set, [&] { facts.left_out = left_out_facts(set, lists); });
  facts.origin = origin_facts(set);
  try_to(set, [&] { facts.snippets = make_snippets(set, uses); });
  integrity.met = without_files_of(set.met(), integrity.findings);
  facts.integrity = std::move(integrity);
  return facts;
}

}  // namespace shale
