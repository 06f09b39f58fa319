#pragma once

#include <cstdint>

namespace shale {

/// The factors of mix, for those who compute it in vector registers.
inline constexpr std::uint64_t kMixFirst = 0xbf58476d1ce4e5b9U, kMixSecond = 0x94d049bb133111ebU;

/// The output function of SplitMix64 (Steele, Lea and Flood 2014): a bijection on 64-bit words, and
/// a good mixer of them.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * kMixFirst;
  x = (x ^ (x >> 27)) * kMixSecond;
  return x ^ (x >> 31);
}

/// The words that belong to a key, pseudo-random: SplitMix64 begun at the key. Word i, from 0, is
/// mix(key + (i + 1) * 0x9e3779b97f4a7c15). The same on every machine and in every version.
class RandomWords {
 public:
  explicit constexpr RandomWords(std::uint64_t key) : state_(key) {}
  [[nodiscard]] constexpr std::uint64_t next() { return mix(state_ += kStep); }
  /// Word i of those that are left.
  [[nodiscard]] constexpr std::uint64_t at(std::uint64_t i) const {
    return mix(state_ + (i + 1) * kStep);
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  std::uint64_t state_;
};

}  // namespace shale
