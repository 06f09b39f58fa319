#include <doctest/doctest.h>

#include "shale/base/path_text.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/verify/open_to_verify.hpp"
#include "shale/verify/shard_tasks.hpp"
#include "shale/verify/verify_files.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kManyRows = 20'000;  // three ranges and a bit

// big.grid, indexed with checksums.
void write_big(const TempDir& dir) {
  write_file(dir / "big.grid", grid_bytes(columns_of(kManyRows), kManyRows));
  (void)index_file(indexing(dir / "big.grid", true), {});
}

VerifyReport proved(const std::string& path, unsigned jobs, const Events& events = {}) {
  VerifyRequest request;
  request.dataset = path;
  request.jobs = jobs;
  const FindingSink sink;
  VerifyLog log(sink, events);
  const OpenedDataset dataset = *open_to_verify(request, log);
  ShardTasks tasks(request, format_of(dataset.manifest), log, jobs);
  const auto check = std::make_shared<ShardCheck>(
      dataset.manifest, 0, ShardReader(dataset.paths, dataset.manifest, dataset.shards[0]),
      tasks.is_over());
  load_blocks(*check, InputFile(join_path(dataset.paths.lists, dataset.shards[0].blocks.name)),
              log);
  tasks.prove_bytes(check);
  tasks.prove_digests(check);
  return std::move(log.report());
}

TEST_CASE("shard tasks: a whole shard has no finding, and all its bytes are read") {
  const TempDir dir;
  write_big(dir);

  const VerifyReport report = proved(dir / "big.grid", 2);

  CHECK(report.findings == 0);
  CHECK(report.bytes == std::filesystem::file_size(dir / "big.grid"));
}

TEST_CASE("shard tasks: findings come in the order of the shard, whatever the number of jobs") {
  const TempDir dir;
  write_big(dir);
  for (const std::uint64_t mebibyte : {20U, 3U, 11U})
    flip(dir / "big.grid", mebibyte * kBlockBytes + 5);

  const VerifyReport one = proved(dir / "big.grid", 1);
  const VerifyReport four = proved(dir / "big.grid", 4);

  REQUIRE(one.findings == 4);  // three blocks, the digest
  REQUIRE(four.findings == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(describe(one.first_findings[i]) == describe(four.first_findings[i]));
  CHECK(one.first_findings[0].offset == 3 * kBlockBytes);
  CHECK(one.first_findings[2].offset == 20 * kBlockBytes);
}

TEST_CASE("shard tasks: a stop ends the work while tasks are under way") {
  const TempDir dir;
  write_big(dir);
  Events events;
  int asked = 0;
  events.should_stop = [&] { return ++asked > 1; };

  CHECK(error_of([&] { (void)proved(dir / "big.grid", 2, events); }).code() == Code::interrupted);
}

}  // namespace
}  // namespace shale
