#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

// The largest file of any shard, with index and block list, and the fewest samples of a shard.
struct Extremes {
  std::uint64_t largest_file = 0, fewest_samples = ~std::uint64_t{0}, most_samples = 0;
};
Extremes extremes_of(const std::string& directory) {
  Extremes extremes;
  (void)read_manifest(directory, [&](const ManifestShard& shard) {
    extremes.fewest_samples = std::min(extremes.fewest_samples, shard.digest.samples);
    extremes.most_samples = std::max(extremes.most_samples, shard.digest.samples);
  });
  for (const auto& [name, content] : content_of(directory)) {
    if (name.starts_with("shard-"))
      extremes.largest_file = std::max<std::uint64_t>(extremes.largest_file, content.size());
  }
  return extremes;
}

// The smallest limit that every sample of the set fits, each in a shard of its own.
std::uint64_t smallest_limit(const Format& format, const SampleSet& set) {
  const TempDir dir;
  (void)write_set(format, set, dir / "out", {.limit_samples = 1});
  return extremes_of(dir / "out").largest_file;
}

TEST_CASE("bounds: no file of any shard is larger than the limit, at any limit" *
          doctest::test_suite("slow")) {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = plain_samples(schema, 60, 2000);
    const std::uint64_t smallest = smallest_limit(format, set);
    for (std::uint64_t limit = smallest; limit < 40 * smallest; limit += 1 + limit / 5) {
      CAPTURE(limit);
      const TempDir dir;
      const Manifest manifest = write_set(format, set, dir / "out", {.limit_bytes = limit});
      CHECK(extremes_of(dir / "out").largest_file <= limit);
      CHECK(extremes_of(dir / "out").fewest_samples > 0);
      CHECK(manifest.digest.samples == 60);
      CHECK(first_finding(verified(dir / "out")) == "");
    }
  });
}

TEST_CASE("bounds: an index that is larger than its shard is bounded too") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // it has no index
    SampleSet set{.schema = schema_of(std::array{Kind::integer}), .samples = {}, .memory = {}};
    for (std::int64_t i = 0; i < 100; ++i) set.samples.push_back({std::to_string(i), {i}});
    const std::uint64_t smallest = smallest_limit(format, set);
    for (const std::uint64_t limit : {smallest, smallest + smallest / 2, 3 * smallest}) {
      CAPTURE(limit);
      const TempDir dir;
      (void)write_set(format, set, dir / "out", {.limit_bytes = limit});
      CHECK(extremes_of(dir / "out").largest_file <= limit);
      CHECK(first_finding(verified(dir / "out")) == "");
    }
  });
}

TEST_CASE("bounds: a shard is closed only when the next sample does not fit" *
          doctest::test_suite("slow")) {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = plain_samples(schema, 40, 500);
    const std::uint64_t limit = 3 * smallest_limit(format, set);
    const TempDir dir;
    (void)write_set(format, set, dir / "out", {.limit_bytes = limit});
    std::size_t first = 0;
    (void)read_manifest(dir / "out", [&](const ManifestShard& shard) {
      const std::size_t next = first + shard.digest.samples;
      if (next == set.samples.size()) return;
      SampleSet longer{.schema = set.schema, .samples = {}, .memory = {}};
      for (std::size_t i = first; i <= next; ++i) longer.samples.push_back(set.samples[i]);
      const TempDir other;
      (void)write_set(format, longer, other / "out");
      CHECK(extremes_of(other / "out").largest_file > limit);
      first = next;
    });
  });
}

TEST_CASE("bounds: the limit of samples a shard holds, with whole shards but the last" *
          doctest::test_suite("slow")) {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = plain_samples(schema, 11, 50);
    for (const std::uint64_t limit : {1U, 2U, 5U, 11U, 12U}) {
      CAPTURE(limit);
      const TempDir dir;
      const Manifest manifest = write_set(format, set, dir / "out", {.limit_samples = limit});
      CHECK(manifest.shard_count == (11 + limit - 1) / limit);
      CHECK(extremes_of(dir / "out").most_samples == std::min<std::uint64_t>(limit, 11));
      CHECK(extremes_of(dir / "out").fewest_samples > 0);
    }
  });
}

TEST_CASE("bounds: a sample that fits no shard is named before anything of it is written") {
  for_each_format([](const Format& format) {
    if (holds_arrays_only(format)) return;  // all samples have one size: test_arrays.cpp
    SampleSet set = plain_samples(full_schema(format), 3, 50);
    const std::uint64_t limit = 4 * smallest_limit(format, set);
    set.samples[2].values[0] = set.keep(std::string(limit, 'x'));
    const TempDir dir;
    SetInProgress progress(format, set.schema, dir / "out", {.limit_bytes = limit});
    progress.append(set.samples[0]);
    progress.append(set.samples[1]);

    const Error error = error_of([&] { progress.append(set.samples[2]); });

    CHECK(error.code() == Code::limit);
    CHECK(error.sample()->key == set.samples[2].key);
    CHECK(error.message().find(std::to_string(limit)) != std::string::npos);
    CHECK(error.hint().starts_with("pass --shard-size "));
    CHECK(fault_of_unfinished(dir / "out").empty());
    CHECK(progress.finish().digest.samples == 2);  // what came before is whole
  });
}

TEST_CASE("bounds: the shard size that the hint of a refusal names is enough") {
  for_each_layout([](const Format& format, const Schema& schema) {
    SampleSet set = plain_samples(schema, 1, 3000);
    const TempDir dir;
    SetInProgress progress(format, set.schema, dir / "small", {.limit_bytes = 100});
    const std::string hint = error_of([&] { progress.append(set.samples[0]); }).hint();
    const std::uint64_t named = std::stoull(hint.substr(std::string("pass --shard-size ").size()));

    CHECK(write_set(format, set, dir / "out", {.limit_bytes = named}).shard_count == 1);
    CHECK(extremes_of(dir / "out").largest_file <= named);
  });
}

TEST_CASE("bounds: a sizer never says less than the closed files have") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const SampleSet set = odd_samples(schema);
    const auto sizer = format.create_sizer(set.schema, defaults(format));
    std::vector<std::uint64_t> said;
    for (const Sample& sample : set.samples) {
      std::vector<std::uint64_t> parts;
      for (const Blob& part : encoded(format, sample, set.schema, defaults(format)).parts)
        parts.push_back(part.size());
      said = sizer->size_with(parts);
      sizer->add(parts);
    }
    const TempDir dir;
    (void)write_set(format, set, dir / "out");
    const ReadSet read = read_set(dir / "out");
    REQUIRE(said.size() == read.shards[0].files.size());
    for (std::size_t i = 0; i < said.size(); ++i) CHECK(said[i] >= read.shards[0].files[i].bytes);
  });
}

}  // namespace
}  // namespace shale
