#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/flow/binomial.hpp"

#include "tests/support/chi_square.hpp"
#include "tests/support/doc_table.hpp"

namespace shale {
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
