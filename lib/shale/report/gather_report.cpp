#include "shale/report/gather_report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/browse/indexed_join.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/numbers/bins.hpp"
#include "shale/numbers/time_text.hpp"
#include "shale/report/index_walk.hpp"
#include "shale/report/snippets.hpp"
#include "shale/verify/verify.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRandomSamples = 24;
constexpr std::uint64_t kPreviews = 6;
constexpr std::string_view kNotNumbers =
    "its elements are not numbers: only their sizes were looked at";
constexpr std::uint64_t kShownShards = 200;
constexpr std::size_t kMostExamples = 3, kMostReasons = 100;

// What `shale verify` finds, if it is asked to.
struct Verified {
  Json json = {{"state", "not asked"}};
  std::vector<Finding> findings = {};
};

Verified verify_set(const ReportRequest& request, const Events& events) {
  if (!request.verifies) return {};
  if (request.joined || request.listed) {
    throw Error(Code::unsupported, "--verify of a report is not for inputs that are {}",
                request.joined ? "joined, or read along --axis" : "not converted yet")
        .at(request.dataset)
        .hint(fmt::format("verify them before: shale verify {}",
                          command_words_of(request.joined ? *request.joined : *request.listed)));
  }
  const VerifyReport report = verify(
      {.dataset = request.dataset,
       .depth = VerifyDepth::full,
       .against = {},
       .index_folder = request.index_folder,
       .generator = request.generator,
       .jobs = request.jobs,
       .memory_bytes = request.memory_bytes},
      [](const Finding&) {}, events);
  const char* state = report.findings > 0                                ? "damaged"
                      : report.proves_payload || report.proves_container ? "sound"
                                                                         : "unproven";
  Json json = {{"state", state},
               {"met", nullptr},
               {"shards", report.shards},
               {"samples", report.samples},
               {"bytes", report.bytes},
               {"findings", report.findings},
               {"first_findings", json_of(report.first_findings)},
               {"notes", report.notes}};
  return {.json = std::move(json), .findings = report.first_findings};
}

void put_bound(Json& json, const char* member, double number,
               const std::optional<WholeNumber>& whole) {
  if (!whole)
    json[member] = number;
  else if (whole->is_negative)
    json[member] = whole->as_int64();
  else
    json[member] = whole->magnitude;
}

// Of numbers; minimum, maximum, mean and deviation are of the finite ones. Complex: of |x|.
void put_numbers(Json& json, std::string_view descr, const NumberSummary& summary,
                 const SampledFrom& from) {
  const NumberCounts& numbers = summary.numbers;
  json["values"] = numbers.values();
  json["nan"] = numbers.nan_count();
  json["infinite"] = numbers.infinite_count();
  json["zero"] = numbers.zero_count();
  const std::optional<WholeNumber>& least = numbers.least_whole();
  const std::optional<WholeNumber>& most = numbers.most_whole();
  bool is_constant = false;
  if (numbers.finite_count() > 0) {
    put_bound(json, "minimum", numbers.minimum(), least);
    put_bound(json, "maximum", numbers.maximum(), most);
    if (number_kind_of(descr) == NumberKind::time && least && most) {
      json["first_time"] = time_text(least->as_int64(), descr);
      json["last_time"] = time_text(most->as_int64(), descr);
    }
    if (std::isfinite(numbers.mean())) json["mean"] = numbers.mean();
    if (std::isfinite(numbers.deviation())) json["deviation"] = numbers.deviation();
    is_constant = numbers.finite_count() == numbers.values() &&
                  numbers.minimum() == numbers.maximum() && least == most;
  }
  json["constant"] = is_constant;
  json["histogram"] = histogram_json(summary.bins.bars(), from);
}

Json field_head(const std::string& name, Kind kind, FieldRole role, const SampledFrom& from,
                std::uint64_t missing) {
  return {{"name", printable(name)},
          {"kind", name_of(kind)},
          {"role", name_of(role)},
          {"from", json_of(from)},
          {"missing", missing}};
}

// The columns of a structured type, with the same numbers.
Json column_facts(const Field& field, std::uint64_t samples,
                  const SampleSurvey::OfField& of_field) {
  Json all = Json::array();
  for (const StructuredColumn& column : columns_of(field.dtype)) {
    const SampledFrom from{of_field.looked_at, samples};
    const FieldRole role = column.shape.empty() ? FieldRole::number : FieldRole::array;
    Json facts = field_head(column.name, field.kind, role, from, 0);
    facts["dtype"] = dtype_text(column.descr);
    facts["shape"] = column.shape;
    const std::size_t number = all.size();
    if (column.kind == NumberKind::none)
      facts["note"] = kNotNumbers;
    else if (number < of_field.columns.size())
      put_numbers(facts, column.descr, of_field.columns[number], from);
    all.push_back(std::move(facts));
  }
  return all;
}

Json field_facts(const ReportedSet& set, std::size_t number, const FieldUse& use,
                 const IndexWalk& walked, const SampleSurvey& survey, Json previews) {
  const Field& field = set.schema().fields[number];
  const WalkedColumn& column = walked.columns[number];
  const SampleSurvey::OfField& of_field = survey.fields[number];
  const bool is_tensor = field.kind == Kind::tensor;
  const Json columns = is_tensor ? column_facts(field, walked.from.of, of_field) : Json::array();
  const bool has_numbers = use.kind != NumberKind::none && columns.empty();
  SampledFrom from = walked.from;
  if (is_tensor && (has_numbers || !columns.empty())) from.looked_at = of_field.looked_at;
  Json facts = field_head(field.name, field.kind, use.role, from, column.missing);
  if (column.missing > 0) facts["missing_from"] = json_of(walked.from);
  const bool is_number = field.kind == Kind::integer || field.kind == Kind::real;
  if (is_tensor || is_number) {
    facts["dtype"] = dtype_text(dtype_of_column(field));
    facts["shape"] = shape_json(field.shape);
  }
  if (field.elements != Kind::bytes) facts["elements"] = name_of(field.elements);
  if (field.is_json) facts["format"] = "json";
  if (field.is_optional) facts["optional"] = true;
  if (column.most > 0) {
    facts["bytes"] = column.bytes;
    facts["least_bytes"] = column.least;
    facts["most_bytes"] = column.most;
  }
  if (is_number)
    put_numbers(facts, dtype_of_column(field).descr(), column, from);
  else if (is_tensor && has_numbers)
    put_numbers(facts, field.dtype.descr(), of_field, from);
  if (!columns.empty()) facts["columns"] = columns;
  if (!previews.empty()) facts["previews"] = std::move(previews);
  if (is_tensor && !has_numbers && columns.empty())
    facts["note"] = kNotNumbers;
  else if (is_tensor && has_numbers && of_field.too_large > 0)
    facts["note"] = fmt::format("{} too large to be read", of_field.too_large);
  return facts;
}

std::uint64_t number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? number : 0;
}

Json most_frequent_first(Json counts) {
  std::stable_sort(counts.begin(), counts.end(), [](const Json& a, const Json& b) {
    return a["count"].get<std::uint64_t>() > b["count"].get<std::uint64_t>();
  });
  return counts;
}

// Counts the rows of a list by one of their columns: the most frequent first, with a few examples.
Json count_reasons(const ProvedLists& lists, std::string_view list) {
  std::map<std::string, std::pair<std::uint64_t, std::vector<std::string>>> reasons;
  lists.read(list, [&](const std::vector<std::string>& fields) {
    const bool is_full = reasons.size() >= kMostReasons && !reasons.contains(fields[1]);
    auto& [count, examples] = reasons[is_full ? "other" : fields[1]];
    ++count;
    if (examples.size() < kMostExamples) examples.push_back(fields[0]);
  });
  Json sorted = Json::array();
  for (const auto& [reason, left] : reasons)
    sorted.push_back({{"reason", printable(reason)},
                      {"count", left.first},
                      {"examples", names_json(left.second)}});
  return most_frequent_first(std::move(sorted));
}

Json by_count(const NamedCounts& counts) {
  return most_frequent_first(list_of(counts, [](const auto& named) {
    return Json{{"name", printable(named.first)}, {"count", named.second}};
  }));
}

Json sides_of(const std::map<std::uint64_t, std::uint64_t>& sides, SampledFrom from) {
  std::vector<HistogramBar> bars;
  for (std::uint64_t bound = sides.empty() ? 0 : sides.begin()->first;
       !sides.empty() && bound <= sides.rbegin()->first;) {
    const std::uint64_t next = next_size_bound(bound);
    const auto found = sides.find(bound);
    bars.push_back({static_cast<double>(bound), static_cast<double>(next),
                    found == sides.end() ? 0 : found->second});
    if (next <= bound) break;
    bound = next;
  }
  return histogram_json(bars, from, "pixels");
}

template <class Options>
Json options_json(const Options& options) {
  Json json = Json::object();
  for (const auto& [name, value] : options) json[printable(name)] = printable(value);
  return json;
}

Json shards_facts(ReportedSet& set) {
  const std::uint64_t count = set.loader().shard_count();
  std::uint64_t file_bytes = 0, most = 0, least = 0;
  Json fullest, emptiest, shown = Json::array();
  for (std::uint64_t number = 0; number < count; ++number) {
    if (number % 1024 == 0) set.events().stop_if_asked();
    const ManifestShard shard = set.loader().shard_facts(number);
    std::uint64_t bytes = shard.list_bytes();
    for (const ManifestFile& file : shard.files) bytes += file.bytes;
    file_bytes += bytes;
    const Json one = {{"name", printable(shard.name)},
                      {"samples", shard.digest.samples},
                      {"bytes", shard.payload_bytes},
                      {"file_bytes", bytes}};
    if (number == 0 || bytes > most) {
      most = bytes;
      fullest = one;
    }
    if (number == 0 || bytes < least) {
      least = bytes;
      emptiest = one;
    }
    const bool is_shown =
        count <= kShownShards || number < kShownShards / 2 || number >= count - kShownShards / 2;
    if (is_shown) shown.push_back(one);
  }
  Json facts = {{"count", count}, {"file_bytes", file_bytes}};
  for (const char* bound : {"shard_size", "shard_samples"})
    if (const std::uint64_t most_of = number_of(option_of(set.manifest(), bound)); most_of > 0)
      facts[bound == std::string_view("shard_size") ? "bound_bytes" : "bound_samples"] = most_of;
  if (count > 0) {
    facts["fullest"] = std::move(fullest);
    facts["emptiest"] = std::move(emptiest);
  }
  facts["shards"] = std::move(shown);
  return facts;
}

Json left_out_facts(const ReportedSet& set, const ProvedLists& lists) {
  Json facts = {{"skipped", set.manifest().skipped},
                {"skipped_by", count_reasons(lists, kSkippedName)},
                {"ignored", set.manifest().ignored},
                {"ignored_by", count_reasons(lists, kIgnoredName)}};
  put_name(facts, "skipped_file", lists.first_of(kSkippedName));
  put_name(facts, "ignored_file", lists.first_of(kIgnoredName));
  if (!lists.damaged().empty()) facts["damaged_lists"] = names_json(lists.damaged());
  return facts;
}

Json origin_facts(const ReportedSet& set) {
  const Manifest& manifest = set.manifest();
  std::string source = printable(manifest.source.kind);
  if (!manifest.source.origin.empty())
    source += fmt::format(" ({})", printable(manifest.source.origin));
  Json facts = {
      {"generator", printable(manifest.generator)}, {"source", source},
      {"source_samples", manifest.source.samples},  {"source_bytes", manifest.source.bytes},
      {"options", options_json(manifest.options)},  {"transforms", Json::object()}};
  for (const ManifestTransform& transform : manifest.transform)
    facts["transforms"][printable(transform.field)] =
        fmt::format("{}; {}", text_of(transform), printable(transform.codec));
  for (const ManifestRun& run : manifest.runs)
    facts["runs"].push_back({{"source", printable(run.source.kind)},
                             {"samples", run.samples},
                             {"shards", run.shards},
                             {"options", options_json(run.options)}});
  if (manifest.part)
    facts["part"] =
        fmt::format("{} of {}, counted from 0", manifest.part->index, manifest.part->count);
  if (manifest.layout.has_checksums) facts["content_digest"] = manifest.digest.content.hex();
  return facts;
}

// "a complete record dataset by shale 0.5.0", "a file of another tool".
std::string what_it_is(const ReportedSet& set, bool is_damaged) {
  const Manifest& manifest = set.manifest();
  if (set.request().joined) return "inputs that are joined";
  if (set.request().listed) return fmt::format("{}, not converted", manifest.source.kind);
  if (!manifest.layout.is_of_one_file())
    return fmt::format("a {} {} dataset by {}", is_damaged ? "damaged" : "complete",
                       manifest.format, printable(manifest.generator));
  if (manifest.layout.dialect == Dialect::own)
    return fmt::format("one {} file of shale", manifest.format);
  return manifest.source.kind == kFileListKind ? fmt::format("a list of {} files", manifest.format)
                                               : "a file of another tool";
}

// From the manifest, else from the survey; nullopt: there are no images.
std::optional<Json> image_facts(const ReportedSet& set, const std::vector<FieldUse>& uses,
                                const SampleSurvey& survey, const NotedImages& noted) {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].holds_images()) fields.push_back(set.schema().fields[i].name);
  }
  const std::optional<ImageReport>& known = set.manifest().images;
  if (fields.empty() && !known) return std::nullopt;
  const ImageReport& images = known ? *known : survey.images;
  std::uint64_t looked_at = 0;
  for (const auto& [type, count] : images.types) looked_at += count;
  const SampledFrom from =
      known ? SampledFrom{looked_at, looked_at} : SampledFrom{survey.looked_at, set.samples()};
  Json aspects = Json::array();
  for (const std::array<std::uint64_t, 2>& aspect : kAspects) {
    const auto found = images.sizes.aspects.find(aspect);
    if (found == images.sizes.aspects.end()) continue;
    aspects.push_back(
        {{"name", fmt::format("{}:{}", aspect[0], aspect[1])}, {"count", found->second}});
  }
  Json facts = {{"fields", names_json(fields)},
                {"from", json_of(from)},
                {"from_manifest", known.has_value()},
                {"types", by_count(images.types)},
                {"odd", by_count(images.odd)},
                {"shorter", sides_of(images.sizes.shorter, from)},
                {"longer", sides_of(images.sizes.longer, from)},
                {"aspects", std::move(aspects)}};
  put_number(facts, "odd_images", known ? noted.odd_images : std::optional(survey.odd_images));
  if (!images.changed.empty()) facts["changed"] = by_count(images.changed);
  if (images.duplicates) {
    facts["repeated"] = images.duplicates->samples;
    facts["relabelled"] = images.duplicates->relabelled;
  }
  return facts;
}

// What a value takes on average, by field.
std::vector<std::uint64_t> mean_bytes(const IndexWalk& walked) {
  std::vector<std::uint64_t> bytes;
  bytes.reserve(walked.columns.size());
  for (const WalkedColumn& column : walked.columns)
    bytes.push_back(column.values == 0 ? 0 : column.bytes / column.values);
  return bytes;
}

Json describe_set(const ReportedSet& set, const SampleRows& sample) {
  const ReportRequest& request = set.request();
  return {{"generator", request.generator},
          {"path", printable(request.dataset)},
          {"format", set.request().listed ? set.manifest().source.kind : set.manifest().format},
          {"samples", set.samples()},
          {"bytes", set.manifest().payload_bytes},
          {"damaged", false},
          {"options",
           {{"sample", sample.is_all() && request.sample == 0 ? std::string("all")
                                                              : std::to_string(request.sample)},
            {"verify", request.verifies ? "yes" : "no"}}},
          {"notes", names_json(set.loader().notes())}};
}

// What `make` returns, or `otherwise` where damage prevents that.
template <class Make>
Json made_or(ReportedSet& set, Json otherwise, Make&& make) {
  try {
    return make();
  } catch (const Error& error) {
    set.meet(finding_of_damage(error));
    return otherwise;
  }
}

std::vector<PlannedSheet> plan_sheets(ReportedSet& set, const SampleRows& sample, IndexWalk& walked,
                                      const SampleSurvey& survey, const NotedImages& noted) {
  std::vector<PlannedSheet> sheets;
  if (set.samples() > 0)
    sheets.push_back({.kind = "random",
                      .caption = "random samples",
                      .rows = sample.first(kRandomSamples),
                      .of_samples = set.samples()});
  std::ranges::move(walked.sheets, std::back_inserter(sheets));
  std::ranges::move(plan_noted_sheets(set, survey, noted), std::back_inserter(sheets));
  return sheets;
}

}  // namespace

ReportFacts gather_report(const ReportRequest& request, const Events& events) {
  Verified verified = verify_set(request, events);
  ReportedSet set(request, events);
  const SampleRows sample(set.samples(), request.sample, kReportSeed);
  ReportFacts facts;
  Json& json = facts.json = describe_set(set, sample);
  const std::vector<FieldUse> uses = find_roles(set, sample);
  IndexWalk walked = walk_index(set, sample);
  // Where shards are damaged these are fewer than were to be looked at.
  json["looked_at"] =
      json_of(SampledFrom{std::min(sample.size(), walked.from.looked_at), set.samples()});
  const SampleSurvey survey =
      survey_samples(set, sample, uses, mean_bytes(walked), !set.manifest().images);
  const ProvedLists lists(set);
  const NotedImages noted = read_noted_images(set, lists);
  std::vector<Json> previews = make_previews(set, uses, sample.first(kPreviews), facts.pictures);
  json["sheets"] =
      fill_sheets(set, uses, plan_sheets(set, sample, walked, survey, noted), facts.pictures);
  if (walked.classes) json["classes"] = std::move(*walked.classes);
  if (std::optional<Json> images = image_facts(set, uses, survey, noted))
    json["images"] = std::move(*images);
  json["fields"] = Json::array();
  for (std::size_t i = 0; i < uses.size(); ++i)
    json["fields"].push_back(field_facts(set, i, uses[i], walked, survey, std::move(previews[i])));
  json["sample_bytes"] = histogram_json(walked.sample_bytes.bars(), walked.from, "bytes");
  json["shards"] = made_or(set, {{"count", 0}, {"file_bytes", 0}, {"shards", Json::array()}},
                           [&] { return shards_facts(set); });
  json["order"] = std::move(walked.order);
  json["left_out"] = made_or(set,
                             {{"skipped", 0},
                              {"skipped_by", Json::array()},
                              {"ignored", 0},
                              {"ignored_by", Json::array()}},
                             [&] { return left_out_facts(set, lists); });
  Json origin = origin_facts(set);
  Json snippets = made_or(set, Json::array(), [&] { return make_snippets(set, uses); });
  facts.met = without_files_of(set.met(), verified.findings);
  facts.verified = std::move(verified.findings);
  verified.json["met"] = json_of(facts.met);
  verified.json["command"] =
      fmt::format("shale verify {}",
                  request.joined ? command_words_of(*request.joined) : shell_word(request.dataset));
  json["integrity"] = std::move(verified.json);
  json["origin"] = std::move(origin);
  json["snippets"] = std::move(snippets);
  json["damaged"] = facts.is_damaged();
  json["what"] = what_it_is(set, facts.is_damaged());
  return facts;
}

}  // namespace shale
