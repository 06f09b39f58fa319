#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "shale/flow/permutation.hpp"

#include "tests/support/chi_square.hpp"
#include "tests/support/doc_table.hpp"
#include "tests/support/sampled_walk.hpp"

namespace shale {
namespace {

// True if at() reaches every number below n once, and inverse() leads back from each `stride`th.
bool is_bijection(std::uint64_t n, std::uint64_t seed, std::uint64_t stride = 1) {
  const Permutation order(n, seed);
  std::vector<bool> is_hit(n, false);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t sample = order.at(i);
    if (sample >= n || is_hit[sample]) return false;
    if (i % stride == 0 && order.inverse(sample) != i) return false;
    is_hit[sample] = true;
  }
  return true;
}

// Chi-square of n x n counts against all being equal, in standard deviations from its mean. A
// permutation matrix has (n - 1)^2 degrees of freedom; at the numbers used here the statistic is
// close to normal.
double deviation(const std::vector<double>& counts, double n, double expected) {
  double chi_square = 0;
  for (const double count : counts)
    chi_square += (count - expected) * (count - expected) / expected;
  const double freedom = (n - 1) * (n - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

TEST_CASE("permutation: it is a bijection, with its inverse, for every n up to 2000") {
  for (std::uint64_t n = 1; n <= 2000; ++n) {
    CAPTURE(n);
    REQUIRE(is_bijection(n, n * 77));
  }
}

TEST_CASE("permutation: it is a bijection for n up to 10^4" * doctest::test_suite("slow")) {
  // All are 50 million positions; the inverse is asked for some.
  const test::SampledWalk walk(8000, 1500);
  for (std::uint64_t n = 2001 + walk.first; n <= 10'000; n += walk.step) {
    CAPTURE(n);
    REQUIRE(is_bijection(n, n * 77, 101));
  }
}

TEST_CASE("permutation: it is a bijection on both sides of powers of two, and at 10^4") {
  for (const std::uint64_t n : {4095U, 4096U, 4097U, 8191U, 8192U, 8193U, 9999U, 10'000U}) {
    CAPTURE(n);
    CHECK(is_bijection(n, 0));
    CHECK(is_bijection(n, ~std::uint64_t{0}));
  }
}

TEST_CASE("permutation: the inverse leads back for n that no table holds") {
  constexpr std::uint64_t kSizes[] = {1'000'000'007, std::uint64_t{1} << 32,
                                      (std::uint64_t{1} << 32) + 1, std::uint64_t{1} << 63,
                                      ~std::uint64_t{0}};
  for (const std::uint64_t n : kSizes) {
    CAPTURE(n);
    const Permutation order(n, 12345);
    for (std::uint64_t k = 0; k < 2000; ++k) {
      const std::uint64_t i = k % 2 == 0 ? k / 2 : n - 1 - k * (n / 2000);
      const std::uint64_t sample = order.at(i);
      REQUIRE(sample < n);
      REQUIRE(order.inverse(sample) == i);
    }
  }
}

TEST_CASE("permutation: many at once are what they are one by one, and lead back") {
  for (const std::uint64_t n : {1U, 2U, 100U, 257U, 5000U, 1'000'003U}) {
    CAPTURE(n);
    const Permutation order(n, 9);
    std::vector<std::uint64_t> values(std::min<std::uint64_t>(n, 3001)), expected;
    std::iota(values.begin(), values.end(), n - values.size());
    const std::vector<std::uint64_t> positions = values;
    for (const std::uint64_t value : values) expected.push_back(order.at(value));
    order.at_each(values);
    CHECK(values == expected);
    order.inverse_each(values);
    CHECK(values == positions);
  }
}

TEST_CASE("permutation: many at once are the same with any instructions that the machine has") {
  constexpr std::uint64_t kSizes[] = {1,
                                      2,
                                      257,
                                      1'000'003,
                                      4'294'967'295,
                                      (std::uint64_t{1} << 40) + 1,
                                      std::uint64_t{1} << 63,
                                      ~std::uint64_t{0}};
  for (const std::uint64_t n : kSizes) {
    const Permutation order(n, n * 31);
    for (const LaneLevel level : {LaneLevel::scalar, LaneLevel::avx2, LaneLevel::avx512}) {
      if (level > best_lane_level()) continue;
      for (const std::size_t count : {1U, 31U, 32U, 33U, 1024U, 1025U, 2500U}) {
        if (count > n) continue;
        CAPTURE(n);
        CAPTURE(static_cast<int>(level));
        CAPTURE(count);
        std::vector<std::uint64_t> values(count), expected;
        std::iota(values.begin(), values.end(), n - count);
        const std::vector<std::uint64_t> positions = values;
        for (const std::uint64_t value : values) expected.push_back(order.at(value));
        order.at_each(values, level);
        REQUIRE(values == expected);
        order.inverse_each(values, level);
        REQUIRE(values == positions);
      }
    }
  }
}

TEST_CASE("permutation: the vectors of docs/shuffle.md hold") {
  const auto rows = test::doc_table("shuffle.md", "| n | seed | i | at(i) |");
  REQUIRE(rows.size() > 30);
  for (const auto& row : rows) {
    const auto number = [&](std::size_t column) { return std::stoull(row.at(column)); };
    CAPTURE(row.at(0));
    CAPTURE(row.at(2));
    const Permutation order(number(0), number(1));
    CHECK(order.at(number(2)) == number(3));
    std::vector<std::uint64_t> many(40, number(2));
    order.at_each(many);
    CHECK(std::ranges::all_of(many, [&](std::uint64_t at) { return at == number(3); }));
  }
}

TEST_CASE("permutation: over seeds each position gets each sample alike") {
  // Seeds 0 .. 19,999, fixed: the test is deterministic. A fair shuffle passes 4.5 deviations but
  // once in 10^5.
  constexpr std::uint64_t kSeeds = 20'000;
  for (const std::uint64_t n : {2U, 3U, 5U, 8U, 16U, 17U, 33U, 64U, 100U}) {
    CAPTURE(n);
    std::vector<double> counts(n * n, 0);
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const Permutation order(n, seed);
      for (std::uint64_t i = 0; i < n; ++i) counts[i * n + order.at(i)] += 1;
    }
    CHECK(std::abs(deviation(counts, static_cast<double>(n), kSeeds / static_cast<double>(n))) <
          4.5);
  }
}

TEST_CASE("permutation: within one order, neighbours are spread over the whole") {
  // Where sample i lands against where i + 1 lands, on a grid of 32 x 32: a fair order fills it
  // evenly.
  constexpr std::uint64_t kSize = 1'281'167, kSide = 32;
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    CAPTURE(seed);
    const Permutation order(kSize, seed);
    std::vector<double> counts(kSide * kSide, 0);
    std::uint64_t before = order.at(0);
    for (std::uint64_t i = 1; i <= 200'000; ++i) {
      const std::uint64_t sample = order.at(i);
      counts[before * kSide / kSize * kSide + sample * kSide / kSize] += 1;
      before = sample;
    }
    CHECK(std::abs(deviation(counts, kSide, 200'000.0 / (kSide * kSide))) < 4.5);
  }
}

TEST_CASE("permutation: of 10^9, the first positions and their neighbours are spread evenly") {
  // The first 2 million samples in 1000 bins; where sample i lands against where i + 1 lands, on a
  // grid of 32 x 32.
  constexpr std::uint64_t kSize = 1'000'000'000, kBins = 1000, kSide = 32, kSamples = 2'000'000;
  for (const std::uint64_t seed : {0U, 1U}) {
    CAPTURE(seed);
    const Permutation order(kSize, seed);
    std::vector<double> bins(kBins, 0), pairs(kSide * kSide, 0);
    std::uint64_t before = order.at(kSamples);
    for (std::uint64_t i = kSamples; i-- > 0;) {
      const std::uint64_t sample = order.at(i);
      bins[sample * kBins / kSize] += 1;
      pairs[sample * kSide / kSize * kSide + before * kSide / kSize] += 1;
      before = sample;
    }
    const std::vector<double> even_bins(kBins, kSamples / double{kBins});
    const std::vector<double> even_pairs(kSide * kSide, kSamples / double{kSide * kSide});
    CHECK(std::abs(test::chi_square_deviation(bins, even_bins, kBins - 1)) < 4.5);
    CHECK(std::abs(test::chi_square_deviation(pairs, even_pairs, kSide * kSide - 1)) < 4.5);
  }
}

TEST_CASE("permutation: another seed and another n are another order") {
  std::uint64_t same_seed = 0, same_size = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same_seed += Permutation(1000, 1).at(i) == Permutation(1001, 1).at(i) ? 1 : 0;
    same_size += Permutation(1000, 1).at(i) == Permutation(1000, 2).at(i) ? 1 : 0;
  }
  CHECK(same_seed < 10);
  CHECK(same_size < 10);
}

}  // namespace shale
