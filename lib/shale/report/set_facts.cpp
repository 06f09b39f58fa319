#include "shale/report/set_facts.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kShownShards = 200;
constexpr std::size_t kMostExamples = 3, kMostReasons = 100;

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
    if (fields.size() < 2) return;
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

}  // namespace

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

std::string what_it_is(const ReportedSet& set) {
  const Manifest& manifest = set.manifest();
  if (!manifest.layout.is_of_one_file())
    return fmt::format("a complete {} dataset by {}", manifest.format,
                       printable(manifest.generator));
  if (manifest.layout.dialect == Dialect::own)
    return fmt::format("one {} file of shale", manifest.format);
  return manifest.source.kind == kFileListKind ? fmt::format("a list of {} files", manifest.format)
                                               : "a file of another tool";
}

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

}  // namespace shale
