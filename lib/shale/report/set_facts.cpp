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

// Counts the rows of a list by one of their columns.
std::vector<LeftOut> count_reasons(const ProvedLists& lists, std::string_view list) {
  std::map<std::string, LeftOut> reasons;
  lists.read(list, [&](const std::vector<std::string>& fields) {
    if (fields.size() < 2) return;
    const bool is_full = reasons.size() >= kMostReasons && !reasons.contains(fields[1]);
    LeftOut& left = reasons[is_full ? "other" : fields[1]];
    ++left.count;
    if (left.examples.size() < kMostExamples) left.examples.push_back(fields[0]);
  });
  std::vector<LeftOut> sorted;
  sorted.reserve(reasons.size());
  for (auto& [reason, left] : reasons) {
    left.reason = printable(reason);
    sorted.push_back(std::move(left));
  }
  std::ranges::stable_sort(sorted, std::greater<>{}, &LeftOut::count);
  return sorted;
}

std::vector<NamedCount> by_count(const NamedCounts& counts) {
  std::vector<NamedCount> sorted;
  sorted.reserve(counts.size());
  for (const auto& [name, count] : counts) sorted.push_back({printable(name), count});
  std::ranges::stable_sort(sorted, std::greater<>{}, &NamedCount::count);
  return sorted;
}

Histogram sides_of(const std::map<std::uint64_t, std::uint64_t>& sides, std::string name,
                   SampledFrom from) {
  Histogram histogram{
      .name = std::move(name), .unit = "pixels", .is_logarithmic = true, .bars = {}, .from = from};
  if (sides.empty()) return histogram;
  const std::uint64_t last = sides.rbegin()->first;
  for (std::uint64_t bound = sides.begin()->first; bound <= last;) {
    const std::uint64_t next = next_size_bound(bound);
    const auto found = sides.find(bound);
    histogram.bars.push_back({static_cast<double>(bound), static_cast<double>(next),
                              found == sides.end() ? 0 : found->second});
    if (next <= bound) break;
    bound = next;
  }
  return histogram;
}

RunFacts facts_of_run(const ManifestRun& run) {
  RunFacts facts{
      .source_kind = run.source.kind, .samples = run.samples, .shards = run.shards, .options = {}};
  for (const auto& [name, value] : run.options)
    facts.options.emplace_back(printable(name), printable(value));
  return facts;
}

}  // namespace

ShardsFacts shards_facts(ReportedSet& set) {
  ShardsFacts facts;
  facts.count = set.loader().shard_count();
  facts.bound_bytes = number_of(option_of(set.manifest(), "shard_size"));
  facts.bound_samples = number_of(option_of(set.manifest(), "shard_samples"));
  for (std::uint64_t number = 0; number < facts.count; ++number) {
    if (number % 1024 == 0) set.events().stop_if_asked();
    const ManifestShard shard = set.loader().shard_facts(number);
    ShardFacts one{.name = shard.name,
                   .samples = shard.digest.samples,
                   .payload_bytes = shard.payload_bytes,
                   .file_bytes = shard.list_bytes()};
    for (const ManifestFile& file : shard.files) one.file_bytes += file.bytes;
    facts.file_bytes += one.file_bytes;
    if (number == 0 || one.file_bytes > facts.fullest.file_bytes) facts.fullest = one;
    if (number == 0 || one.file_bytes < facts.emptiest.file_bytes) facts.emptiest = one;
    const bool is_shown = facts.count <= kShownShards || number < kShownShards / 2 ||
                          number >= facts.count - kShownShards / 2;
    if (is_shown) facts.shards.push_back(std::move(one));
  }
  return facts;
}

LeftOutFacts left_out_facts(const ReportedSet& set, const ProvedLists& lists) {
  LeftOutFacts facts;
  facts.skipped = set.manifest().skipped;
  facts.ignored = set.manifest().ignored;
  facts.skipped_by = count_reasons(lists, kSkippedName);
  facts.skipped_file = lists.first_of(kSkippedName);
  facts.ignored_by = count_reasons(lists, kIgnoredName);
  facts.ignored_file = lists.first_of(kIgnoredName);
  facts.damaged_lists = lists.damaged();
  return facts;
}

OriginFacts origin_facts(const ReportedSet& set) {
  const Manifest& manifest = set.manifest();
  OriginFacts facts;
  facts.generator = printable(manifest.generator);
  facts.source_kind = printable(manifest.source.kind);
  if (!manifest.source.origin.empty())
    facts.source_kind += fmt::format(" ({})", printable(manifest.source.origin));
  facts.source_samples = manifest.source.samples;
  facts.source_bytes = manifest.source.bytes;
  for (const auto& [name, value] : manifest.options)
    facts.options.emplace_back(printable(name), printable(value));
  for (const ManifestTransform& transform : manifest.transform) {
    facts.transforms.emplace_back(
        printable(transform.field),
        fmt::format("{}; {}", text_of(transform), printable(transform.codec)));
  }
  for (const ManifestRun& run : manifest.runs) facts.runs.push_back(facts_of_run(run));
  if (manifest.part)
    facts.part =
        fmt::format("{} of {}, counted from 0", manifest.part->index, manifest.part->count);
  if (manifest.layout.has_checksums) facts.content_digest = manifest.digest.content.hex();
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

std::optional<ImageFacts> image_facts(const ReportedSet& set, const std::vector<FieldUse>& uses,
                                      const SampleSurvey& survey, const NotedImages& noted) {
  ImageFacts facts;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].holds_images()) facts.fields.push_back(set.schema().fields[i].name);
  }
  const std::optional<ImageReport>& known = set.manifest().images;
  if (facts.fields.empty() && !known) return std::nullopt;
  const ImageReport& images = known ? *known : survey.images;
  if (known)
    facts.odd_images = noted.odd_images;
  else
    facts.odd_images = survey.odd_images;
  facts.is_from_manifest = known.has_value();
  facts.types = by_count(images.types);
  facts.odd = by_count(images.odd);
  facts.changed = by_count(images.changed);
  std::uint64_t looked_at = 0;
  for (const NamedCount& type : facts.types) looked_at += type.count;
  facts.from =
      known ? SampledFrom{looked_at, looked_at} : SampledFrom{survey.looked_at, set.samples()};
  facts.shorter = sides_of(images.sizes.shorter, "shorter side", facts.from);
  facts.longer = sides_of(images.sizes.longer, "longer side", facts.from);
  for (const std::array<std::uint64_t, 2>& aspect : kAspects) {
    const auto found = images.sizes.aspects.find(aspect);
    if (found == images.sizes.aspects.end()) continue;
    facts.aspects.push_back({fmt::format("{}:{}", aspect[0], aspect[1]), found->second});
  }
  if (images.duplicates) {
    facts.repeated = images.duplicates->samples;
    facts.relabelled = images.duplicates->relabelled;
  }
  return facts;
}

}  // namespace shale
