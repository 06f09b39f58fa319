#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/shards/open_shards.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

// Six shards of one sample each.
struct SixShards {
  explicit SixShards(const Format& format, const Schema& schema) {
    (void)write_set(format, plain_samples(schema, 6, 0), dir / "out", {.limit_samples = 1});
    paths = DatasetPaths(dir / "out");
    shards = open_shard_list(paths);
  }
  TempDir dir;
  DatasetPaths paths;
  ShardList shards;
};

Schema bytes_schema() { return {.fields = {{.name = "value", .kind = Kind::bytes}}}; }

TEST_CASE(
    "open shards: what was opened is found again, and the first opened is closed for a fifth") {
  const SixShards set(toy_format, bytes_schema());
  OpenShards open(set.paths, set.shards.manifest(), set.shards);

  const ShardReader* const first = open.at(0).reader.get();
  const std::weak_ptr<const ShardReader> kept = open.at(0).reader;
  for (const std::uint64_t number : {1U, 2U, 3U}) (void)open.at(number);
  CHECK(open.at(0).reader.get() == first);
  (void)open.at(4);

  CHECK(kept.expired());
  CHECK(open.at(4).number == 4);
  CHECK(open.at(0).reader->shard().name == "shard-000000");
}

TEST_CASE("open shards: a reader that somebody holds stays open") {
  const SixShards set(toy_format, bytes_schema());
  OpenShards open(set.paths, set.shards.manifest(), set.shards);

  const std::shared_ptr<const ShardReader> held = open.at(0).reader;
  for (const std::uint64_t number : {1U, 2U, 3U, 4U, 5U}) (void)open.at(number);

  CHECK(held->open_index().row(0).key.length > 0);
}

TEST_CASE("open shards: each is proved once, however often it is opened") {
  const SixShards set(toy_format, bytes_schema());
  std::vector<std::string> proved;
  OpenShards open(set.paths, set.shards.manifest(), set.shards,
                  [&](const ShardReader& shard) { proved.push_back(shard.shard().name); });

  for (const std::uint64_t number : {0U, 0U, 1U, 2U, 3U, 4U, 0U, 5U, 1U}) (void)open.at(number);

  CHECK(proved == std::vector<std::string>{"shard-000000", "shard-000001", "shard-000002",
                                           "shard-000003", "shard-000004", "shard-000005"});
}

TEST_CASE("open shards: index and keys are there where rows are indexed only") {
  const SixShards indexed(toy_format, bytes_schema());
  const Field count{.name = "count", .kind = Kind::integer, .dtype = DType::parse("<i2")};
  const SixShards columns(toy_rows_format, {.fields = {count}, .has_keys = false});
  OpenShards open_indexed(indexed.paths, indexed.shards.manifest(), indexed.shards);
  OpenShards open_columns(columns.paths, columns.shards.manifest(), columns.shards);

  CHECK(open_indexed.at(2).index.value().rows() == 1);
  CHECK(open_indexed.at(2).keys.has_value());
  CHECK_FALSE(open_columns.at(2).index.has_value());
  CHECK_FALSE(open_columns.at(2).keys.has_value());
}

}  // namespace
}  // namespace shale
