#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/flow/epoch_order.hpp"

#include "tests/support/doc_table.hpp"

namespace shale {
namespace {

std::vector<DrawnSample> all_of(const BlockOrder& order) {
  std::vector<DrawnSample> samples(order.size());
  order.draw(0, samples);
  return samples;
}

struct Setting {
  std::uint64_t n, block, lanes;
};

// Each row once, and each within its run.
bool is_order(const Setting& setting) {
  const BlockOrder order(setting.n, setting.block, setting.lanes, setting.n * 31 + setting.lanes);
  std::vector<bool> is_hit(setting.n, false);
  for (const DrawnSample& sample : all_of(order)) {
    if (sample.row >= setting.n || is_hit[sample.row] || sample.count > setting.block) return false;
    if (sample.row < sample.first || sample.row - sample.first >= sample.count) return false;
    is_hit[sample.row] = true;
  }
  return true;
}

}  // namespace

TEST_CASE("block order: every row once, for all small sizes, blocks and lanes") {
  for (std::uint64_t n = 1; n <= 40; ++n) {
    for (std::uint64_t block = 1; block <= 12; ++block) {
      for (std::uint64_t lanes = 1; lanes <= 14; ++lanes) {
        CAPTURE(n);
        CAPTURE(block);
        CAPTURE(lanes);
        REQUIRE(is_order({n, block, lanes}));
      }
    }
  }
}

TEST_CASE("block order: every row once, for sizes around those of real sets") {
  constexpr Setting kSettings[] = {{10'007, 16, 305}, {16'384, 64, 64},  {9999, 100, 7},
                                   {5000, 5000, 3},   {5000, 1, 300},    {4096, 16, 4096},
                                   {4096, 16, 9999},  {12'800, 32, 400}, {1000, 999, 2}};
  for (const Setting& setting : kSettings) {
    CAPTURE(setting.n);
    CAPTURE(setting.block);
    CHECK(is_order(setting));
  }
}

TEST_CASE("block order: any part of it is what it is in the whole") {
  const BlockOrder order(1003, 16, 20, 5);
  const std::vector<DrawnSample> whole = all_of(order);
  for (std::uint64_t begin = 0; begin < 1003; begin += 13) {
    std::vector<DrawnSample> part(std::min<std::uint64_t>(29, 1003 - begin));
    order.draw(begin, part);
    for (std::size_t i = 0; i < part.size(); ++i) REQUIRE(part[i].row == whole[begin + i].row);
  }
}

TEST_CASE("block order: no more runs than lanes are open, and they hold half of their rows") {
  // Begun, and not yet at their end. Equally many open in each round: what is read ahead is steady.
  constexpr std::uint64_t kSize = 55'000, kBlock = 16, kLanes = 304;
  const BlockOrder order(kSize, kBlock, kLanes, 1);
  std::map<std::uint64_t, std::uint64_t> left;  // rows of each open run
  std::uint64_t held = 0, most_held = 0, opened = 0, most_opened = 0, position = 0;
  for (const DrawnSample& sample : all_of(order)) {
    const auto [run, is_new] = left.try_emplace(sample.first, sample.count);
    held += is_new ? sample.count : 0;
    // The beginning opens all lanes at once; it is the work of the first rounds only.
    opened += is_new && position > 20 * kLanes ? 1 : 0;
    most_held = std::max(most_held, held);
    REQUIRE(left.size() <= kLanes + 1);
    --held;
    if (--run->second == 0) left.erase(run);
    if (++position % kLanes == 0) most_opened = std::max(most_opened, std::exchange(opened, 0));
  }
  CHECK(left.empty());
  CHECK(most_held <= (kLanes + 1) * (kBlock + 1) / 2 + kLanes);
  CHECK(most_opened <= 2 * kLanes / kBlock);
}

TEST_CASE("block order: a batch of a sorted set holds as many classes as a uniform one") {
  // 1000 classes of 55 rows each; 226 of them are expected among 256 uniform rows. The last rows
  // are the runs that python/shale/_blocks.py chooses for buffers of 16, 64 and 256 MiB, of 110 KB
  // rows.
  constexpr std::uint64_t kSize = 55'000, kBatch = 256;
  constexpr std::pair<std::uint64_t, std::uint64_t> kRuns[] = {
      {16, 304}, {1, 152}, {2, 406}, {10, 443}};
  for (const auto& run : kRuns) {
    const std::uint64_t block = run.first, lanes = run.second;
    const std::vector<DrawnSample> order = all_of(BlockOrder(kSize, block, lanes, epoch_key(0, 0)));
    for (const std::uint64_t begin : {std::uint64_t{0}, kSize / 2, kSize - kBatch}) {
      std::set<std::uint64_t> classes;
      for (std::uint64_t i = begin; i < begin + kBatch; ++i) classes.insert(order[i].row / 55);
      CAPTURE(block);
      CAPTURE(begin);
      CHECK(classes.size() >= 210);
      CHECK(classes.size() <= 240);
    }
  }
}

TEST_CASE("block order: another key is another order") {
  const std::vector<DrawnSample> one = all_of(BlockOrder(1000, 8, 20, epoch_key(1, 0)));
  for (const std::uint64_t key : {epoch_key(1, 1), epoch_key(0, 0)}) {
    const std::vector<DrawnSample> other = all_of(BlockOrder(1000, 8, 20, key));
    int same = 0;
    for (std::size_t i = 0; i < one.size(); ++i) same += one[i].row == other[i].row ? 1 : 0;
    CHECK(same < 20);
  }
}

TEST_CASE("block order: the vectors of docs/shuffle.md hold") {
  const auto rows = test::doc_table(
      "shuffle.md", "| n | block | lanes | seed | epoch | position | row | lane | first | count |");
  REQUIRE(rows.size() > 20);
  for (const auto& row : rows) {
    const auto number = [&](std::size_t column) { return std::stoull(row.at(column)); };
    CAPTURE(row.at(0));
    CAPTURE(row.at(5));
    DrawnSample sample;
    BlockOrder(number(0), number(1), number(2), epoch_key(number(3), number(4)))
        .draw(number(5), {&sample, 1});
    CHECK(sample.row == number(6));
    CHECK(sample.lane == number(7));
    CHECK(sample.first == number(8));
    CHECK(sample.count == number(9));
  }
}

TEST_CASE("epochs: the keys and seeds of docs/shuffle.md hold") {
  const auto rows = test::doc_table(
      "shuffle.md", "| seed | epoch | sample | key of the epoch | seed of the sample |");
  REQUIRE(rows.size() > 5);
  for (const auto& row : rows) {
    const auto number = [&](std::size_t column) { return std::stoull(row.at(column)); };
    CHECK(epoch_key(number(0), number(1)) == number(3));
    CHECK(sample_seed(number(0), number(1), number(2)) == number(4));
  }
}

TEST_CASE("epochs: no two samples of an epoch, and no two epochs, share a seed") {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    for (std::uint64_t sample = 0; sample < 5000; ++sample)
      seeds.insert(sample_seed(7, epoch, sample));
  }
  CHECK(seeds.size() == 100'000);
}

}  // namespace shale
