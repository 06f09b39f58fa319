#pragma once

#include <cstdint>

namespace shale {

/// More parts than any cluster has tasks: what is read of one is bounded.
inline constexpr std::uint64_t kMostParts = 1'000'000;

/// Which part of a run that several machines share: 0 <= index < count.
struct PartNumber {
  std::uint64_t index = 0, count = 1;
  friend bool operator==(const PartNumber&, const PartNumber&) = default;

  /// The position at which it begins, of `samples` in their (shuffled) order: index * samples /
  /// count. It ends where the next one begins.
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t samples) const {
    return position(index, samples);
  }
  /// How many of `samples` it has.
  [[nodiscard]] std::uint64_t share_of(std::uint64_t samples) const {
    return position(index + 1, samples) - position(index, samples);
  }

 private:
  // at * samples / count, rounded down, without a product that overflows: count <= kMostParts.
  [[nodiscard]] std::uint64_t position(std::uint64_t at, std::uint64_t samples) const {
    return samples / count * at + samples % count * at / count;
  }
};

}  // namespace shale
