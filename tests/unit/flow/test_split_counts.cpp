#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/flow/permutation.hpp"
#include "shale/flow/split_counts.hpp"

#include "tests/support/chi_square.hpp"
#include "tests/support/doc_table.hpp"

namespace shale {
namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t kLeastMemory = 4096;
constexpr std::uint64_t kMemory = 1 << 20;

Numbers numbers_of(const std::string& text) {
  Numbers numbers;
  std::istringstream words(text);
  for (std::uint64_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

Numbers squares_mod_1000(std::uint64_t n) {
  Numbers weights(n);
  for (std::uint64_t i = 0; i < n; ++i) weights[i] = i * i % 1000;
  return weights;
}

SplitCounts::WeightSums sums_of(const Numbers& weights) {
  Numbers sums{0};
  for (const std::uint64_t weight : weights) sums.push_back(sums.back() + weight);
  return [sums](std::uint64_t first, std::span<std::uint64_t> into) {
    REQUIRE(first + into.size() <= sums.size());
    std::copy_n(sums.begin() + static_cast<std::ptrdiff_t>(first), into.size(), into.begin());
  };
}

SplitCounts weighted(const Numbers& weights, std::uint64_t draws, std::uint64_t seed,
                     std::uint64_t memory_bytes = kMemory) {
  return {weights.size(), draws, seed, memory_bytes, sums_of(weights)};
}

Numbers all_rows(const SplitCounts& counts) {
  Numbers rows(counts.draws());
  counts.rows_of(0, rows);
  return rows;
}

// How often each of n rows was drawn. Rows must ascend and be below n.
std::vector<double> drawn(const SplitCounts& counts, std::uint64_t n) {
  const Numbers rows = all_rows(counts);
  REQUIRE(std::is_sorted(rows.begin(), rows.end()));
  std::vector<double> times(n, 0);
  for (const std::uint64_t row : rows) times.at(row) += 1;
  return times;
}

// True if every rank alone, and every walk over `length` ranks, gives the row that all of them
// give.
bool agrees(const SplitCounts& counts, const Numbers& rows, std::uint64_t length) {
  Numbers some;
  for (std::uint64_t first = 0; first < rows.size(); ++first) {
    if (counts.row_of(first) != rows[first]) return false;
    some.assign(std::min<std::uint64_t>(length, rows.size() - first), 0);
    counts.rows_of(first, some);
    if (!std::equal(some.begin(), some.end(), rows.begin() + static_cast<std::ptrdiff_t>(first)))
      return false;
  }
  return true;
}

// Over many seeds, the deviation of how often each list of rows came from its probability.
double outcome_deviation(const Numbers& weights, std::uint64_t draws, std::uint64_t seeds) {
  const auto total = static_cast<double>(std::accumulate(weights.begin(), weights.end(), 0U));
  std::map<Numbers, double> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    seen[all_rows(weighted(weights, draws, seed, kLeastMemory))] += 1;
  std::map<Numbers, double> probability;  // of each sorted list, over all lists of draws
  Numbers list(draws, 0);
  for (bool is_more = true; is_more;) {
    double chance = 1;
    for (const std::uint64_t row : list) chance *= static_cast<double>(weights[row]) / total;
    Numbers sorted = list;
    std::sort(sorted.begin(), sorted.end());
    if (chance > 0) probability[sorted] += chance;
    is_more = false;
    for (std::uint64_t& row : list) {
      row = row + 1 == weights.size() ? 0 : row + 1;
      is_more = row != 0;
      if (is_more) break;
    }
  }
  std::vector<double> counts, expected;
  for (const auto& [outcome, chance] : probability) {
    counts.push_back(seen[outcome]);
    expected.push_back(chance * static_cast<double>(seeds));
  }
  // Whatever is impossible has come, if these do not add up.
  CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == static_cast<double>(seeds));
  return test::chi_square_deviation(counts, expected, static_cast<double>(counts.size()) - 1);
}

}  // namespace

TEST_CASE("split counts: the vectors of docs/sampling.md hold") {
  const auto rows = test::doc_table("sampling.md", "| n | N | seed | rank | row |");
  REQUIRE(rows.size() > 50);
  for (const auto& row : rows) {
    const auto number = [&](std::size_t column) { return std::stoull(row.at(column)); };
    CAPTURE(row.at(0));
    CAPTURE(row.at(3));
    for (const std::uint64_t memory : {kLeastMemory, kMemory})
      CHECK(SplitCounts(number(0), number(1), number(2), memory).row_of(number(3)) == number(4));
  }
}

TEST_CASE("split counts: the vectors with weights of docs/sampling.md hold") {
  const auto lists = test::doc_table("sampling.md", "| weights | N | seed | rows of all ranks |");
  REQUIRE(lists.size() >= 9);
  for (const auto& row : lists) {
    CAPTURE(row.at(0));
    const Numbers weights = numbers_of(row.at(0));
    CHECK(all_rows(weighted(weights, std::stoull(row.at(1)), std::stoull(row.at(2)))) ==
          numbers_of(row.at(3)));
  }
  const auto ranks = test::doc_table("sampling.md", "| n | N | seed | a rank | its row |");
  REQUIRE(ranks.size() >= 16);
  for (const auto& row : ranks) {
    const auto number = [&](std::size_t column) { return std::stoull(row.at(column)); };
    CAPTURE(row.at(0));
    CAPTURE(row.at(3));
    const Numbers weights = squares_mod_1000(number(0));
    for (const std::uint64_t memory : {kLeastMemory, kMemory})
      CHECK(weighted(weights, number(1), number(2), memory).row_of(number(3)) == number(4));
  }
}

TEST_CASE("split counts: with slots, the draws with replacement of docs/sampling.md hold") {
  const auto rows = test::doc_table("sampling.md", "| n | N | seed | rows of all slots |");
  REQUIRE(rows.size() >= 6);
  for (const auto& row : rows) {
    const auto number = [&](std::size_t column) { return std::stoull(row.at(column)); };
    CAPTURE(row.at(0));
    const SplitCounts counts(number(0), number(1), number(2), kMemory);
    const Permutation slots(number(1), number(2) ^ kSlotSeed);
    Numbers filled(number(1));
    for (std::uint64_t rank = 0; rank < filled.size(); ++rank)
      filled[slots.at(rank)] = counts.row_of(rank);
    CHECK(filled == numbers_of(row.at(3)));
  }
}

TEST_CASE("split counts: for every small n, rows ascend below n, however they are asked for") {
  for (std::uint64_t n = 1; n <= 70; ++n) {
    CAPTURE(n);
    for (const std::uint64_t draws : {0U, 1U, 2U, 3U, 7U, 64U, 65U, 300U}) {
      CAPTURE(draws);
      const SplitCounts even(n, draws, n, kLeastMemory);
      REQUIRE(even.draws() == draws);
      const Numbers rows = all_rows(even);
      REQUIRE(std::is_sorted(rows.begin(), rows.end()));
      REQUIRE((rows.empty() || rows.back() < n));
      REQUIRE(agrees(even, rows, 5));
    }
  }
}

TEST_CASE("split counts: with weights, ranks give the same rows however they are asked for") {
  for (const std::uint64_t n : {1U, 7U, 64U, 1000U, 5000U, 20'000U}) {
    CAPTURE(n);
    Numbers weights = squares_mod_1000(n);
    weights.back() += 1;
    for (const std::uint64_t draws : {1U, 100U, 2000U}) {
      const SplitCounts counts = weighted(weights, draws, 3, kLeastMemory);
      const Numbers rows = all_rows(counts);
      REQUIRE(std::is_sorted(rows.begin(), rows.end()));
      REQUIRE(agrees(counts, rows, 70));
    }
  }
}

TEST_CASE("split counts: equal weights draw as no weights do") {
  for (const std::uint64_t n : {1U, 5U, 64U, 1000U, 4097U}) {
    const SplitCounts even(n, 5000, 11, kMemory);
    CHECK(all_rows(weighted(Numbers(n, 1), 5000, 11)) == all_rows(even));
    CHECK(all_rows(weighted(Numbers(n, 12345), 5000, 11)) == all_rows(even));
  }
}

TEST_CASE("split counts: the rows do not depend on the memory") {
  // From blocks of 64 rows down to single rows; then from 2^15 down to 2^13.
  const Numbers weights = squares_mod_1000(20'000);
  const Numbers even = all_rows({20'000, 2'000'000, 5, kLeastMemory});
  const Numbers uneven = all_rows(weighted(weights, 2'000'000, 5, kLeastMemory));
  for (const std::uint64_t memory : {8192U, 50'000U, 1U << 20}) {
    CAPTURE(memory);
    CHECK(all_rows({20'000, 2'000'000, 5, memory}) == even);
    CHECK(all_rows(weighted(weights, 2'000'000, 5, memory)) == uneven);
  }
  CHECK(all_rows({10'000'000, 200'000, 5, kLeastMemory}) ==
        all_rows({10'000'000, 200'000, 5, kMemory}));
}

TEST_CASE("split counts: sums are asked for in small pieces, none beyond the last row") {
  // Rows weigh 0, 1, 2, 0, 1, 2, ...: sums without a table. Blocks of 2^15 rows, then of 2^12.
  constexpr std::uint64_t kRows = 10'000'001;
  std::uint64_t most = 0, last = 0;
  const SplitCounts::WeightSums sums = [&](std::uint64_t first, std::span<std::uint64_t> into) {
    most = std::max<std::uint64_t>(most, into.size());
    last = std::max(last, first + into.size() - 1);
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = (first + i) / 3 * 3 + ((first + i) % 3 == 2 ? 1 : 0);
  };
  const SplitCounts coarse(kRows, 200'000, 1, kLeastMemory, sums);
  CHECK(most == 1);
  const SplitCounts fine(kRows, 200'000, 1, kMemory, sums);
  const Numbers rows = all_rows(coarse);
  CHECK(rows == all_rows(fine));
  for (std::uint64_t rank = 0; rank < rows.size(); rank += 997)
    REQUIRE(coarse.row_of(rank) == rows[rank]);
  CHECK(std::all_of(rows.begin(), rows.end(), [](std::uint64_t row) { return row % 3 != 0; }));
  CHECK(most == 4097);
  CHECK(last == kRows);
}

TEST_CASE("split counts: rows are drawn alike") {
  constexpr std::uint64_t kRows = 1000, kDraws = 100'000;
  const std::vector<double> expected(kRows, static_cast<double>(kDraws) / kRows);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto times = drawn({kRows, kDraws, seed, kMemory}, kRows);
    CHECK(std::abs(test::chi_square_deviation(times, expected, kRows - 1)) < 4.5);
  }
}

TEST_CASE("split counts: rows are drawn in proportion to weights, and those of 0 never") {
  constexpr std::uint64_t kDraws = 2'000'000;
  const Numbers weights = squares_mod_1000(1500);
  const double total =
      static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    const auto times = drawn(weighted(weights, kDraws, seed), weights.size());
    std::vector<double> counts, expected;
    for (std::size_t row = 0; row < weights.size(); ++row) {
      if (weights[row] == 0) {
        CHECK(times[row] == 0);
        continue;
      }
      counts.push_back(times[row]);
      expected.push_back(kDraws * static_cast<double>(weights[row]) / total);
    }
    const auto freedom = static_cast<double>(counts.size()) - 1;
    CHECK(std::abs(test::chi_square_deviation(counts, expected, freedom)) < 4.5);
  }
}

TEST_CASE("split counts: over seeds, each outcome comes as often as the multinomial law says") {
  CHECK(std::abs(outcome_deviation({1, 1}, 5, 10'000)) < 4.5);
  CHECK(std::abs(outcome_deviation({1, 1, 1}, 4, 10'000)) < 4.5);
  CHECK(std::abs(outcome_deviation({1, 1, 1, 1, 1}, 3, 20'000)) < 4.5);
  CHECK(std::abs(outcome_deviation({1, 1, 1, 1, 1, 1, 1, 1}, 3, 20'000)) < 4.5);
  CHECK(std::abs(outcome_deviation({0, 1, 2, 0, 3, 0}, 4, 20'000)) < 4.5);
}

TEST_CASE("split counts: over seeds, the counts of two rows are as independent as they can be") {
  // Of n counts that add up, two have the correlation -1 / (n - 1), wherever the rows lie.
  constexpr std::uint64_t kRows = 64, kSeeds = 4000;
  constexpr std::pair<std::size_t, std::size_t> kPairs[] = {{0, 1},   {0, 2},   {31, 32}, {0, 32},
                                                            {16, 48}, {62, 63}, {5, 60}};
  constexpr double kMean = 10, kVariance = kMean * (1 - 1.0 / kRows);
  std::vector<double> products(std::size(kPairs), 0);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto times = drawn({kRows, kRows * 10, seed, kLeastMemory}, kRows);
    for (std::size_t i = 0; i < products.size(); ++i)
      products[i] += (times[kPairs[i].first] - kMean) * (times[kPairs[i].second] - kMean);
  }
  for (std::size_t i = 0; i < products.size(); ++i) {
    CAPTURE(kPairs[i].first);
    CAPTURE(kPairs[i].second);
    const double correlation = products[i] / (kSeeds * kVariance);
    CHECK(std::abs(correlation + 1.0 / (kRows - 1)) < 4.5 / std::sqrt(kSeeds));
  }
}

TEST_CASE("split counts: one row that weighs something gets all draws, wherever it lies") {
  for (const std::uint64_t heavy : {0U, 1U, 4095U, 4096U, 9998U, 9999U}) {
    CAPTURE(heavy);
    Numbers weights(10'000, 0);
    weights[heavy] = (std::uint64_t{1} << 63) - 1;
    CHECK(all_rows(weighted(weights, 1000, heavy)) == Numbers(1000, heavy));
    CHECK(weighted(weights, 1'000'000'000, heavy, kLeastMemory).row_of(999'999'999) == heavy);
  }
}

TEST_CASE("split counts: no draws ask for no sums, even of no rows") {
  const SplitCounts::WeightSums none = [](std::uint64_t, std::span<std::uint64_t>) {
    CHECK(false);
  };
  for (const std::uint64_t n : {0U, 1U, 1000U}) {
    const SplitCounts counts(n, 0, 0, kLeastMemory, none);
    CHECK(counts.draws() == 0);
    counts.rows_of(0, {});
  }
}

TEST_CASE("split counts: the largest n keeps its rows in range and spread") {
  constexpr std::uint64_t kRows = (std::uint64_t{1} << 63) - 1;
  const Numbers rows = all_rows({kRows, 100'000, 9, kMemory});
  CHECK(std::is_sorted(rows.begin(), rows.end()));
  CHECK(rows.back() < kRows);
  std::vector<double> bins(100, 0);
  for (const std::uint64_t row : rows) bins.at(row / (kRows / 100 + 1)) += 1;
  CHECK(std::abs(test::chi_square_deviation(bins, std::vector<double>(100, 1000), 99)) < 4.5);
}

TEST_CASE("split counts: another seed, another n and another N are other draws") {
  const Numbers rows = all_rows({1000, 1000, 1, kMemory});
  CHECK(all_rows({1000, 1000, 2, kMemory}) != rows);
  CHECK(all_rows({1001, 1000, 1, kMemory}) != rows);
  Numbers more = all_rows({1000, 1001, 1, kMemory});
  std::uint64_t same = 0;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) same += rows[rank] == more[rank] ? 1 : 0;
  CHECK(same < 500);
}

TEST_CASE(
    "split counts: more draws than can be counted in a lifetime stop when they are asked to") {
  struct Stop {};
  unsigned asked = 0;
  const auto stop = [&] {
    if (++asked == 3) throw Stop();
  };
  constexpr std::uint64_t kDraws = std::uint64_t{1} << 60;
  CHECK_THROWS_AS(SplitCounts(1'000'003, kDraws, 1, kMemory, nullptr, stop), Stop);
}

namespace {

struct Law {
  std::uint64_t trials, a, b;

  [[nodiscard]] double share() const { return static_cast<double>(a) / static_cast<double>(b); }
  [[nodiscard]] double mean() const { return static_cast<double>(trials) * share(); }
  [[nodiscard]] double variance() const { return mean() * (1 - share()); }
  [[nodiscard]] double probability(std::uint64_t successes) const {
    const auto k = static_cast<double>(successes), t = static_cast<double>(trials);
    return std::exp(std::lgamma(t + 1) - std::lgamma(k + 1) - std::lgamma(t - k + 1) +
                    k * std::log(share()) + (t - k) * std::log1p(-share()));
  }
};

constexpr std::uint64_t kLargest = (std::uint64_t{1} << 63) - 1;

// Of `keys` binomial numbers, the deviation of how often each came from how often it should.
// Numbers that are too rare for a chi-square share a bin with the one before.
double deviation_of(const Law& law, std::uint64_t keys, std::uint64_t first_key) {
  std::vector<double> seen(law.trials + 1, 0);
  for (std::uint64_t key = 0; key < keys; ++key)
    seen[binomial(RandomWords(first_key + key), law.trials, law.a, law.b)] += 1;
  std::vector<double> counts{0}, expected{0};
  for (std::uint64_t k = 0; k <= law.trials; ++k) {
    counts.back() += seen[k];
    expected.back() += static_cast<double>(keys) * law.probability(k);
    if (expected.back() < 20 || k == law.trials) continue;
    counts.push_back(0);
    expected.push_back(0);
  }
  if (expected.back() < 20) {
    counts[counts.size() - 2] += counts.back();
    expected[expected.size() - 2] += expected.back();
    counts.pop_back();
    expected.pop_back();
  }
  return test::chi_square_deviation(counts, expected, static_cast<double>(counts.size()) - 1);
}

}  // namespace

TEST_CASE("binomial: the vectors of docs/sampling.md hold") {
  const auto rows = test::doc_table("sampling.md", "| key | trials | a | b | successes |");
  REQUIRE(rows.size() >= 20);
  for (const auto& row : rows) {
    const auto number = [&](std::size_t column) { return std::stoull(row.at(column)); };
    CAPTURE(row.at(0));
    CAPTURE(row.at(1));
    CHECK(binomial(RandomWords(number(0)), number(1), number(2), number(3)) == number(4));
  }
}

TEST_CASE("binomial: it is between 0 and the number of trials, and is certain where a / b is") {
  for (std::uint64_t trials = 0; trials <= 200; ++trials) {
    CAPTURE(trials);
    for (std::uint64_t a = 0; a <= 7; ++a)
      CHECK(binomial(RandomWords(trials * 8 + a), trials, a, 7) <= trials);
    CHECK(binomial(RandomWords(trials), trials, 0, 5) == 0);
    CHECK(binomial(RandomWords(trials), trials, 5, 5) == trials);
    CHECK(binomial(RandomWords(trials), trials, 0, kLargest) == 0);
    CHECK(binomial(RandomWords(trials), trials, kLargest, kLargest) == trials);
  }
}

TEST_CASE("binomial: only the proportion of a and b counts") {
  for (std::uint64_t key = 0; key < 200; ++key) {
    const std::uint64_t thirds = binomial(RandomWords(key), 1000, 1, 3);
    CHECK(binomial(RandomWords(key), 1000, 12345, 37035) == thirds);
    CHECK(binomial(RandomWords(key), 1000, kLargest / 7, kLargest / 7 * 3) == thirds);
  }
}

TEST_CASE("binomial: numbers of few trials come as often as they should") {
  constexpr Law kLaws[] = {
      {1, 1, 2},   {1, 1, 3},    {1, 999, 1000}, {2, 1, 3},   {5, 2, 3},      {10, 1, 10},
      {63, 1, 2},  {64, 1, 2},   {65, 1, 2},     {63, 1, 3},  {64, 2, 3},     {65, 5, 7},
      {129, 1, 4}, {100, 1, 64}, {1000, 1, 500}, {200, 3, 4}, {50, 1, 65537},
  };
  for (const Law& law : kLaws) {
    CAPTURE(law.trials);
    CAPTURE(law.share());
    CHECK(std::abs(deviation_of(law, 40'000, 0)) < 4.5);
    CHECK(std::abs(deviation_of(law, 40'000, mix(1))) < 4.5);
  }
}

TEST_CASE("binomial: of many trials, mean and variance are those of the law") {
  constexpr std::uint64_t kTrials = 1'000'000, kKeys = 600;
  constexpr Law kLaws[] = {{kTrials, 1, 2},      {kTrials, 1, 3},
                           {kTrials, 2, 3},      {kTrials, 1, 250'000},
                           {kTrials, 999, 1000}, {kTrials, kLargest / 5, kLargest}};
  for (const Law& law : kLaws) {
    CAPTURE(law.share());
    double sum = 0, squares = 0;
    for (std::uint64_t key = 0; key < kKeys; ++key) {
      const double off =
          static_cast<double>(binomial(RandomWords(mix(key)), law.trials, law.a, law.b)) -
          law.mean();
      sum += off;
      squares += off * off;
    }
    CHECK(std::abs(sum) < 4.5 * std::sqrt(kKeys * law.variance()));
    // A binomial number's fourth moment: the excess is about 1 / variance.
    const double spread = std::sqrt((2 + 1 / law.variance()) / kKeys);
    CHECK(std::abs(squares / (kKeys * law.variance()) - 1) < 4.5 * spread);
  }
}

TEST_CASE("binomial: nothing is drawn of a share too small to be seen, all of one too large") {
  // 2^-62 of a million trials: once in four million million keys.
  for (std::uint64_t key = 0; key < 20; ++key) {
    CHECK(binomial(RandomWords(key), 1'000'000, 1, kLargest) == 0);
    CHECK(binomial(RandomWords(key), 1'000'000, kLargest - 1, kLargest) == 1'000'000);
  }
}

}  // namespace shale
