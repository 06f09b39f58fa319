#pragma once

#include <cstdint>
#include <span>

#include "shale/flow/feistel_lanes.hpp"

namespace shale {

/// A keyed bijection on [0, n): the shuffled order of n samples without a table. Pseudo-random, not
/// uniform over the n! orders. Pure: the same on every machine and in every version;
/// docs/shuffle.md prints test vectors. n is at least 1.
/// Thread-safe. O(1) memory; at most 4 walks on average.
/// Source: a balanced Feistel network of kRounds rounds over the smallest even number of bits that
/// holds n, walking the cycle until the value falls below n (Black and Rogaway 2002, "Ciphers with
/// arbitrary finite domains").
class Permutation {
 public:
  static constexpr unsigned kRounds = FeistelNetwork::kRounds;

  Permutation(std::uint64_t n, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return n_; }
  /// The sample at position i of the shuffled order, i < n.
  [[nodiscard]] std::uint64_t at(std::uint64_t i) const;
  /// The position of sample j: inverse(at(i)) == i.
  [[nodiscard]] std::uint64_t inverse(std::uint64_t j) const;
  /// Replaces each of many positions by its sample, or each sample by its position: many times
  /// as fast as one by one.
  void at_each(std::span<std::uint64_t> positions) const;
  void inverse_each(std::span<std::uint64_t> samples) const;
  /// The same with certain instructions, which this machine has: for tests.
  void at_each(std::span<std::uint64_t> positions, LaneLevel level) const;
  void inverse_each(std::span<std::uint64_t> samples, LaneLevel level) const;

 private:
  [[nodiscard]] std::uint64_t round(std::uint64_t half, unsigned index) const;
  using Through = void (*)(const FeistelNetwork& network, std::span<std::uint64_t> values);
  void walk_each(std::span<std::uint64_t> values, Through through) const;

  std::uint64_t n_;
  FeistelNetwork network_;
};

}  // namespace shale
