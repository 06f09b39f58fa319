#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "shale/numbers/bins.hpp"

namespace shale {
namespace {

std::uint64_t total(const std::vector<HistogramBar>& bars) {
  std::uint64_t sum = 0;
  for (const HistogramBar& bar : bars) sum += bar.count;
  return sum;
}

TEST_CASE("ratio bins: every value lies in its bar, whatever it is") {
  for (const std::uint64_t value :
       {1ULL, 2ULL, 3ULL, 1023ULL, 1024ULL, 1'000'000'007ULL, (1ULL << 40) - 1, 1ULL << 62}) {
    CAPTURE(value);
    RatioBins bins;
    bins.count(value, 5);
    REQUIRE(bins.bars().size() == 1);
    CHECK(bins.bars()[0].low <= static_cast<double>(value));
    CHECK(bins.bars()[0].high >= static_cast<double>(value));
    CHECK(bins.bars()[0].count == 5);
  }
}

TEST_CASE("ratio bins: a wide range has few bars, adjacent, that hold everything") {
  RatioBins bins;
  bins.count(0, 3);
  for (std::uint64_t value = 1; value < 1ULL << 50; value = value * 3 / 2 + 1) bins.count(value);
  const std::vector<HistogramBar> bars = bins.bars();
  CHECK(bars.size() <= RatioBins::kMostBars + 1);
  CHECK(total(bars) == bins.total());
  CHECK(bars[0].low == 0);
  CHECK(bars[0].count == 3);
  for (std::size_t i = 1; i < bars.size(); ++i) CHECK(bars[i].low == bars[i - 1].high);
}

TEST_CASE("ratio bins: parts add up to the whole") {
  RatioBins whole, one, other;
  for (std::uint64_t value = 0; value < 1000; ++value) {
    whole.count(value * value);
    (value % 3 == 0 ? one : other).count(value * value);
  }
  one.add(other);
  CHECK(one.bars() == whole.bars());
}

TEST_CASE("width bins: whole numbers that are few have a bar each") {
  WidthBins bins(-2, 3, true);
  for (const double value : {-2.0, -2.0, 0.0, 3.0}) bins.count(value);
  const std::vector<HistogramBar> bars = bins.bars();
  REQUIRE(bars.size() == 6);
  CHECK(bars[0] == HistogramBar{-2, -1, 2});
  CHECK(bars[2] == HistogramBar{0, 1, 1});
  CHECK(bars[5] == HistogramBar{3, 4, 1});
}

TEST_CASE("width bins: the largest value is in the last bar, and NaN in none") {
  WidthBins bins(0, 1, false);
  for (const double value : {0.0, 1.0, std::nan(""), -1.0, 2.0}) bins.count(value);
  const std::vector<HistogramBar> bars = bins.bars();
  CHECK(bars.size() == WidthBins::kBars);
  CHECK(bars.front().count == 1);
  CHECK(bars.back().count == 1);
  CHECK(total(bars) == 2);
}

TEST_CASE("width bins: an edge belongs to the bar that begins there") {
  WidthBins bins(0, 0.7, false);
  for (const HistogramBar& bar : bins.bars()) bins.count(bar.low);
  for (const HistogramBar& bar : bins.bars()) CHECK(bar.count == 1);
}

TEST_CASE("width bins: a range that does not end has no bars") {
  CHECK(WidthBins(0, HUGE_VAL, false).is_empty());
  CHECK_FALSE(WidthBins(5, 5, false).is_empty());
}

TEST_CASE("width bins: a range that is wider than a double, and one without room for its bars") {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  struct Row {
    double low, high;
    bool are_whole;
  };
  constexpr double kFar = 9007199254740992;
  for (const Row& row : {Row{-kMost, kMost, false}, Row{-kMost, 1, false}, Row{0, kMost, false},
                         Row{0, 3 * kLeast, false}, Row{1, std::nextafter(1.0, 2.0), false},
                         Row{kFar, kFar + 6, true}, Row{-kFar - 4, -kFar, true}}) {
    CAPTURE(row.high);
    WidthBins bins(row.low, row.high, row.are_whole);
    for (const double value : {row.low, row.high, row.low / 2 + row.high / 2}) bins.count(value);
    const std::vector<HistogramBar> bars = bins.bars();
    REQUIRE_FALSE(bars.empty());
    std::uint64_t counted = 0;
    for (const HistogramBar& bar : bars) {
      CHECK(bar.low < bar.high);
      counted += bar.count;
    }
    CHECK(counted == 3);
    CHECK(bars.front().low == row.low);
    CHECK(bars.back().high == row.high);
    CHECK(bars.back().count > 0);
  }
}

}  // namespace
}  // namespace shale
