#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shale {

/// The network of a Permutation: rounds over the two halves of a value.
struct FeistelNetwork {
  static constexpr unsigned kRounds = 10;  ///< even: two of them leave the halves in their places

  unsigned half_bits = 0;
  std::uint64_t half_mask = 0;
  std::array<std::uint64_t, kRounds> keys{};
};

/// Sends each of many values through a network once, or back. All ways of doing so give the same
/// values.
struct FeistelLanes {
  /// Numbers of values are a multiple of this.
  static constexpr std::size_t kMultiple = 32;

  void (*forward)(const FeistelNetwork& network, std::span<std::uint64_t> values);
  void (*backward)(const FeistelNetwork& network, std::span<std::uint64_t> values);
};

/// Which instructions are used. Other machines than x86-64 have only `scalar`.
enum class LaneLevel { scalar, avx2, avx512 };
/// The highest that this machine has.
[[nodiscard]] LaneLevel best_lane_level();
[[nodiscard]] const FeistelLanes& feistel_lanes(LaneLevel level);

/// The levels above scalar; those that this machine's compiler cannot make are the scalar one.
[[nodiscard]] const FeistelLanes& feistel_lanes_avx2();
[[nodiscard]] const FeistelLanes& feistel_lanes_avx512();

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
