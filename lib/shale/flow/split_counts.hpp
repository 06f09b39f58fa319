#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "shale/flow/random_words.hpp"

namespace shale {

/// How many of `trials` succeed, each with probability a / b: binomial, exactly, if the words are
/// random. 0 <= a <= b < 2^63, and b is not 0. In integers alone; docs/sampling.md has the method
/// and test vectors. Takes about trials / 32 words (trials / 64 for a half), one at least for each
/// bit of a / b that is looked at; none if a is 0 or b.
/// `stop_if_asked`, if there is one, is called every few milliseconds of a large number of trials,
/// and may throw.
/// Source: bit by bit, as Devroye 1986 (Non-Uniform Random Variate Generation, chapter XV) compares
/// a random number with a / b, for all trials at once.
[[nodiscard]] std::uint64_t binomial(RandomWords words, std::uint64_t trials, std::uint64_t a,
                                     std::uint64_t b,
                                     const std::function<void()>* stop_if_asked = nullptr);

/// What the seed of a SplitCounts is XORed with for the Permutation(N, seed ^ kSlotSeed) whose
/// at(rank) is the slot of the output that a rank goes to. The letters "rowslots".
inline constexpr std::uint64_t kSlotSeed = 0x726f77736c6f7473;

/// N draws with replacement out of n rows, sorted by row: rank r of the draws is row row_of(r), and
/// rows never descend as ranks climb. Which rows are drawn how often is multinomial, exactly as far
/// as the words of SplitMix64 are random: the draws are split over a binary tree of rows, each
/// split binomial, in integers alone. A pure function of (seed, n, N, weights): the same on every
/// machine and for every memory. docs/sampling.md has the method and test vectors.
/// Thread-safe once made, if the sums are. Memory: the table of the upper levels of the tree, at
/// most `memory_bytes`; with weights, 32 KiB more for each call. Making it costs about N / 64 words
/// (1 to 2 ns each) for each level of the table, twice that with weights.
class SplitCounts {
 public:
  /// Sums of weights: fills `into` with those of the rows below first, first + 1, ..., never
  /// descending; 0 for row 0, the sum of all, below 2^63, for row n, the last that is asked for.
  /// Asked for at most 4097 sums at once.
  using WeightSums = std::function<void(std::uint64_t first, std::span<std::uint64_t> into)>;

  /// Called while the table is made, at least every few milliseconds; may throw.
  using StopIfAsked = std::function<void()>;

  /// In proportion to weights, or without sums every row alike. n is at least 1 if there are draws,
  /// both below 2^63, and then the sum of the weights is not 0; `memory_bytes` is at least 4 KiB.
  /// The sums are kept. Errors: those of the sums, here and later; what `stop_if_asked` throws.
  SplitCounts(std::uint64_t n, std::uint64_t draws, std::uint64_t seed, std::uint64_t memory_bytes,
              WeightSums sums = nullptr, const StopIfAsked& stop_if_asked = nullptr);

  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  /// The row of one rank, rank < draws.
  [[nodiscard]] std::uint64_t row_of(std::uint64_t rank) const;
  /// The rows of the ranks [first, first + into.size()): cheap, as they lie side by side.
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const;

 private:
  struct Node;
  struct EvenSums;
  class WindowedSums;
  struct Wanted;
  template <class Sums>
  void count_blocks(const Node& node, Sums& sums, const StopIfAsked* stop_if_asked);
  template <class Sums>
  void walk_blocks(std::uint64_t first, std::span<std::uint64_t> into, Sums& sums) const;
  template <class Sums>
  void walk(const Node& node, Sums& sums, Wanted& wanted) const;
  template <class Sums>
  [[nodiscard]] std::uint64_t row_of_one(Node node, Sums& sums) const;
  template <class Sums>
  [[nodiscard]] Node left_of(const Node& node, Sums& sums,
                             const StopIfAsked* stop_if_asked = nullptr) const;

  std::uint64_t n_, draws_;
  RandomWords node_keys_;
  WeightSums sums_;        // empty: every row alike
  unsigned height_;        // of the tree: it has 2^height_ leaves, the rows and those past the last
  unsigned block_height_;  // of the nodes that the table ends at
  std::vector<std::uint64_t> table_;  // for each of them the draws before it, and then all draws
};

}  // namespace shale
