#include <array>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "shale/shards/damaged_blocks.hpp"

#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kRows = 20, kRowBytes = 200'000;
constexpr std::array<std::size_t, 2> kBoth = {0, 1};
constexpr std::array<std::size_t, 1> kLast = {1};

// One shard of rows that do not end where blocks do: x has four of them, y one.
struct RowsOfBlocks {
  TempDir dir;
  DatasetPaths paths;
  ShardList shards;
  std::string x = dir / "set/shard-000000.x.rows.toy";

  RowsOfBlocks() {
    SampleSet set;
    set.schema = {.fields = {{"x", Kind::tensor, DType::parse("|u1"), {kRowBytes}},
                             {"y", Kind::integer, DType::parse("<i2"), {}}},
                  .has_keys = false};
    for (std::uint64_t i = 0; i < kRows; ++i) {
      set.samples.push_back(
          {std::to_string(i),
           {set.keep(std::string(kRowBytes, static_cast<char>(i))), static_cast<std::int64_t>(i)}});
    }
    (void)write_set(toy_rows_format, set, dir / "set", {});
    paths = DatasetPaths(dir / "set");
    shards = open_shard_list(paths);
  }

  void flip(std::uint64_t place) const {
    std::string bytes = read_text(x);
    bytes[place] ^= 1;
    write_file(x, bytes);
  }

  // Which rows are damaged: '.' whole, 'x' not.
  [[nodiscard]] std::string rows(std::span<const std::size_t> fields = kBoth) const {
    ShardFiles files;
    files.are_of_any_size = true;
    const ShardReader shard(paths, shards.manifest(), shards[0], true, std::move(files));
    const DamagedBlocks blocks(paths, shard, shards.manifest().layout, fields, [] {});
    std::string all;
    while (all.size() < kRows) {
      const std::uint64_t whole = blocks.whole_rows(shard, fields, all.size(), kRows - all.size());
      CHECK((whole == 0) == !blocks.text(shard, fields, all.size()).empty());
      all += whole > 0 ? std::string(whole, '.') : "x";
    }
    CHECK(blocks.are_none() == (all.find('x') == std::string::npos));
    return all;
  }
};

TEST_CASE("damaged blocks: a shard as it was written has none") {
  CHECK(RowsOfBlocks().rows() == "....................");
}

TEST_CASE("damaged blocks: all rows that lie in one are damaged, and no others") {
  const RowsOfBlocks set;
  set.flip(2'500'000);  // the third block: bytes 2,097,152 to 3,145,728; rows begin at 16

  CHECK(set.rows() == "..........xxxxxx....");
  CHECK(set.rows(kLast) == "....................");
}

TEST_CASE("damaged blocks: of a file that was cut the whole blocks before the cut are whole") {
  const RowsOfBlocks set;
  std::filesystem::resize_file(set.x, 2'500'000);

  CHECK(set.rows() == "..........xxxxxxxxxx");
}

TEST_CASE("damaged blocks: what is behind the end of a file damages nothing") {
  const RowsOfBlocks set;
  write_file(set.x, read_text(set.x) + "more");

  CHECK(set.rows() == "....................");
}

TEST_CASE("damaged blocks: without their list nothing of a damaged file is known to be whole") {
  const RowsOfBlocks set;
  std::filesystem::remove(set.dir / "set/shard-000000.blocks.npy");
  CHECK(set.rows() == "....................");
  set.flip(2'500'000);

  const Error error = error_of([&] { (void)set.rows(); });

  CHECK(error.code() == Code::damaged);
  CHECK(error.cause() == "the list of its blocks is damaged, too");
}

}  // namespace
}  // namespace shale
