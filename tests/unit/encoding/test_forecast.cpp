#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/forecast.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"
#include "tests/unit/encoding/listed_source.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kMany = ~std::uint64_t{0};

std::vector<std::string> values() {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < 60; ++i) all.emplace_back(i * 37 % 400, 'v');
  return all;
}

// What a writer makes of the same samples.
ShardForecast written(const TempDir& dir, std::uint64_t bytes, std::uint64_t samples) {
  SampleSet set;
  ListedSource source(dir, numbered(values()));
  set.schema = source.info().schema;
  for (const std::string& value : values()) {
    const auto number = static_cast<std::int64_t>(set.samples.size());
    set.samples.push_back({std::to_string(number), {set.keep(value), number}});
  }
  const TempDir out;
  SetInProgress progress(toy_format, set.schema, out / "set",
                         {.limit_bytes = bytes, .limit_samples = samples});
  for (const Sample& sample : set.samples) progress.append(sample);
  const ShardSetWriter::Summary summary = progress.writer().finish();
  return {summary.shards, summary.file_bytes};
}

TEST_CASE("forecast: shards are as many and as large as a writer makes them") {
  const TempDir dir;
  struct Row {
    std::uint64_t bytes, samples;
  };
  for (const Row row : {Row{kMany, kMany}, Row{2000, kMany}, Row{5000, kMany}, Row{kMany, 1},
                        Row{kMany, 59}, Row{kMany, 60}, Row{3000, 7}}) {
    CAPTURE(row.bytes);
    CAPTURE(row.samples);
    ListedSource source(dir, numbered(values()));
    const ShardForecast forecast = forecast_shards(source, toy_format, row.bytes, row.samples);
    const ShardForecast made = written(dir, row.bytes, row.samples);
    CHECK(forecast.shards == made.shards);
    CHECK(forecast.file_bytes == made.file_bytes);
  }
}

TEST_CASE("forecast: no samples are no shards") {
  const TempDir dir;
  ListedSource source(dir, {});
  const ShardForecast forecast = forecast_shards(source, toy_format, 1000, kMany);
  CHECK(forecast.shards == 0);
  CHECK(forecast.file_bytes == 0);
}

TEST_CASE("forecast: a sample that no shard can hold is named, and the limit is exact") {
  const TempDir dir;
  const auto refusal_at = [&](std::uint64_t bytes) -> std::optional<SampleId> {
    ListedSource source(dir, numbered({"a", std::string(5000, 'v'), "c"}));
    try {
      (void)forecast_shards(source, toy_format, bytes, kMany);
      return std::nullopt;
    } catch (const Error& error) {
      CHECK(error.code() == Code::limit);
      return error.sample();
    }
  };
  const std::uint64_t enough = 5000 + 16;  // of the body: its magic and its end
  CHECK_FALSE(refusal_at(enough).has_value());
  REQUIRE(refusal_at(enough - 1).has_value());
  CHECK(refusal_at(enough - 1)->key == "1");
  CHECK(refusal_at(enough - 1)->index == 1);
}

TEST_CASE("forecast: rows of arrays are counted without one being read") {
  const TempDir dir;
  RunSource source(dir, 100);
  source.left = 0;  // it has no row to give
  struct Row {
    std::uint64_t bytes, samples, shards;
  };
  // Two files of 16 bytes and 4 a row; a block list of a header of 128 bytes and two hashes.
  constexpr std::uint64_t kBlockListBytes = 128 + 2 * 16;
  for (const Row row : {Row{kMany, kMany, 1}, Row{kMany, 99, 2}, Row{kMany, 100, 1},
                        Row{16 + 4 * 50, kMany, 2}, Row{16 + 4 * 50 - 1, kMany, 3}}) {
    CAPTURE(row.bytes);
    CAPTURE(row.samples);
    const ShardForecast forecast = forecast_shards(source, toy_rows_format, row.bytes, row.samples);
    CHECK(forecast.shards == row.shards);
    CHECK(forecast.file_bytes == row.shards * (2 * 16 + kBlockListBytes) + 100 * 8);
  }
}

TEST_CASE("refuse too large: the largest sample is held against shard and memory, both exact") {
  const TempDir dir;
  ListedSource source(dir, numbered({std::string(5000, 'v')}));
  source.info().largest = source.pending[0];
  const auto check = [&](std::uint64_t shard_bytes, std::uint64_t memory_bytes) {
    refuse_too_large(source.info(), toy_format, OptionSet(toy_format.options), shard_bytes,
                     memory_bytes);
  };
  CHECK_NOTHROW(check(5016, 1 << 20));
  for (const auto& [shard, memory] : {std::pair{5015, 1 << 20}, std::pair{5016, 5000}}) {
    const Error error = error_of([&, s = shard, m = memory] {
      check(static_cast<std::uint64_t>(s), static_cast<std::uint64_t>(m));
    });
    CHECK(error.code() == Code::limit);
    CHECK(error.sample()->key == "0");
  }
}

}  // namespace
}  // namespace shale
