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

}  // namespace shale
