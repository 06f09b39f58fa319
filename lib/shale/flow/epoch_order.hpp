#pragma once

#include <cstdint>
#include <span>

#include "shale/flow/permutation.hpp"
#include "shale/flow/random_words.hpp"

namespace shale {

/// The key of an epoch's order: Permutation(n, epoch_key(seed, epoch)) is its order "random".
/// docs/shuffle.md prints test vectors of all that is here.
[[nodiscard]] constexpr std::uint64_t epoch_key(std::uint64_t seed, std::uint64_t epoch) {
  return mix(mix(seed ^ 0x65706f63686b6579) + epoch);  // the letters "epochkey"
}

/// The seed of a sample in an epoch, for its augmentation: no two samples of an epoch share one.
[[nodiscard]] constexpr std::uint64_t sample_seed(std::uint64_t seed, std::uint64_t epoch,
                                                  std::uint64_t sample) {
  return RandomWords(mix(epoch_key(seed, epoch) ^ 0x73616d706c657364)).at(sample);  // "samplesd"
}

/// A sample of a BlockOrder, and with what it is read.
struct DrawnSample {
  std::uint64_t row = 0;
  std::uint64_t lane = 0;
  /// The run of rows that this lane takes one after the other, shuffled: [first, first + count).
  std::uint64_t first = 0, count = 0;
};

/// A shuffled order whose samples are read in runs of up to `block` rows. The blocks, in a random
/// order, are one long line that is cut into at most `lanes` + 1 pieces of equal length, the lanes;
/// a round takes one sample of each lane, in a random order. So that many blocks are open at any
/// time, those that change are spread evenly over the rounds, and samples of one block are at least
/// seven eighths of a round apart: lanes move only within an eighth of it. From `lanes` = n on it
/// is a shuffled order of single samples. A pure function of its arguments: the same on every
/// machine and in every version. n, block and lanes are at least 1, n is below 2^63. Thread-safe.
/// O(1) memory.
class BlockOrder {
 public:
  BlockOrder(std::uint64_t n, std::uint64_t block, std::uint64_t lanes, std::uint64_t key);

  [[nodiscard]] std::uint64_t size() const { return n_; }
  /// The samples at the positions from `begin` on, as many as fit; begin + into.size() <= size().
  void draw(std::uint64_t begin, std::span<DrawnSample> into) const;

 private:
  [[nodiscard]] std::uint64_t begin_of_round(std::uint64_t round) const;
  [[nodiscard]] std::uint64_t lane_at(std::uint64_t round, std::uint64_t slot) const;
  [[nodiscard]] DrawnSample sample_at(std::uint64_t lane, std::uint64_t place) const;

  std::uint64_t n_, block_;
  std::uint64_t rounds_;       // and the length of each lane but the last
  std::uint64_t whole_lanes_;  // what they leave, less than rounds_, is the last lane
  Permutation blocks_, lanes_;
  std::uint64_t short_size_, short_place_;  // of the block at the end of the rows
  RandomWords round_keys_, run_keys_;
};

}  // namespace shale
