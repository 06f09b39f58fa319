#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace shale {

/// N draws with replacement out of n rows, sorted by row: rank r of the draws is row row_of(r), and
/// rows never descend as ranks climb. Which rows are drawn how often is multinomial, exactly: the
/// draws are split over a binary tree of rows, each split binomial, in integers alone. A pure
/// function of (seed, n, N, weights): the same on every machine and for every memory.
/// docs/sampling.md has the method and test vectors.
/// Thread-safe once made, if the sums are. Memory: the table of the upper levels of the tree, at
/// most `memory_bytes`; making it costs about 2 N / 64 words a level.
class SplitCounts {
 public:
  /// Sums of weights: fills `into` with those of the rows below first, first + 1, ..., never
  /// descending; 0 for row 0, the sum of all, below 2^63, for row n.
  using WeightSums = std::function<void(std::uint64_t first, std::span<std::uint64_t> into)>;

  /// Every row alike. n is at least 1 if there are draws, both below 2^63; `memory_bytes` at least
  /// 4 KiB.
  SplitCounts(std::uint64_t n, std::uint64_t draws, std::uint64_t seed, std::uint64_t memory_bytes);
  /// In proportion to weights; their sum is not 0 if there are draws.
  SplitCounts(std::uint64_t n, std::uint64_t draws, std::uint64_t seed, std::uint64_t memory_bytes,
              WeightSums sums);

  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  /// The row of one rank, rank < draws.
  [[nodiscard]] std::uint64_t row_of(std::uint64_t rank) const;
  /// The rows of the ranks [first, first + into.size()): cheap, as they lie side by side.
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const;

 private:
  std::uint64_t draws_;
};

}  // namespace shale
