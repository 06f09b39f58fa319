#include "shale/flow/permutation.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shale/flow/random_words.hpp"

namespace shale {

Permutation::Permutation(std::uint64_t n, std::uint64_t seed) : n_(n), keys_{} {
  const auto bits = static_cast<unsigned>(n > 1 ? std::bit_width(n - 1) : 1);
  // On fewer than 8 bits the network reaches too few orders: they would visibly not be alike.
  half_bits_ = std::max(4U, (bits + 1) / 2);
  half_mask_ = (std::uint64_t{1} << half_bits_) - 1;
  // SplitMix64's own stream gives the round keys, begun at a mix of seed and n so that sizes do not
  // share orders.
  RandomWords words(mix(seed ^ mix(n)));
  for (std::uint64_t& key : keys_) key = words.next();
}

std::uint64_t Permutation::round(std::uint64_t half, unsigned index) const {
  return mix(half + keys_[index]) & half_mask_;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  std::uint64_t value = i;
  do {
    std::uint64_t left = value >> half_bits_, right = value & half_mask_;
    for (unsigned index = 0; index < kRounds; ++index) {
      const std::uint64_t next = left ^ round(right, index);
      left = right;
      right = next;
    }
    value = left << half_bits_ | right;
  } while (value >= n_);
  return value;
}

std::uint64_t Permutation::inverse(std::uint64_t j) const {
  std::uint64_t value = j;
  do {
    std::uint64_t left = value >> half_bits_, right = value & half_mask_;
    for (unsigned index = kRounds; index-- > 0;) {
      const std::uint64_t previous = right ^ round(left, index);
      right = left;
      left = previous;
    }
    value = left << half_bits_ | right;
  } while (value >= n_);
  return value;
}

// One value is a chain of kRounds dependent multiplications, twice each; kLanes of them fill the
// time of one. Which values walk on is not foreseeable, so they are gathered, not branched upon.
template <bool kIsInverse>
void Permutation::walk_each(std::span<std::uint64_t> values) const {
  constexpr std::size_t kLanes = 8, kAtOnce = 1024;
  std::array<std::uint32_t, kAtOnce + kLanes> walking;
  for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
    const std::span<std::uint64_t> part =
        values.subspan(begin, std::min(kAtOnce, values.size() - begin));
    std::size_t count = part.size();
    for (std::uint32_t i = 0; i < count; ++i) walking[i] = i;
    while (count > 0) {
      std::size_t still = 0;
      for (std::size_t first = 0; first < count; first += kLanes) {
        const std::size_t lanes = std::min(kLanes, count - first);
        std::array<std::uint64_t, kLanes> left{}, right{};
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::uint64_t value = part[walking[first + lane]];
          left[lane] = value >> half_bits_;
          right[lane] = value & half_mask_;
        }
        for (unsigned index = 0; index < kRounds; ++index) {
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            std::uint64_t& from = kIsInverse ? left[lane] : right[lane];
            std::uint64_t& to = kIsInverse ? right[lane] : left[lane];
            const std::uint64_t next = to ^ round(from, kIsInverse ? kRounds - 1 - index : index);
            to = from;
            from = next;
          }
        }
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const std::uint32_t place = walking[first + lane];
          const std::uint64_t value = left[lane] << half_bits_ | right[lane];
          part[place] = value;
          walking[still] = place;
          still += value >= n_ ? 1 : 0;
        }
      }
      count = still;
    }
  }
}

void Permutation::at_each(std::span<std::uint64_t> positions) const { walk_each<false>(positions); }

void Permutation::inverse_each(std::span<std::uint64_t> samples) const { walk_each<true>(samples); }

}  // namespace shale
