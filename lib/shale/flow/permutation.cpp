#include "shale/flow/permutation.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shale/flow/random_words.hpp"

namespace shale {

Permutation::Permutation(std::uint64_t n, std::uint64_t seed) : n_(n) {
  const auto bits = static_cast<unsigned>(n > 1 ? std::bit_width(n - 1) : 1);
  // On fewer than 8 bits the network reaches too few orders: they would visibly not be alike.
  network_.half_bits = std::max(4U, (bits + 1) / 2);
  network_.half_mask = (std::uint64_t{1} << network_.half_bits) - 1;
  // SplitMix64's own stream gives the round keys, begun at a mix of seed and n so that sizes do not
  // share orders.
  RandomWords words(mix(seed ^ mix(n)));
  for (std::uint64_t& key : network_.keys) key = words.next();
}

std::uint64_t Permutation::round(std::uint64_t half, unsigned index) const {
  return mix(half + network_.keys[index]) & network_.half_mask;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  std::uint64_t value = i;
  do {
    std::uint64_t left = value >> network_.half_bits, right = value & network_.half_mask;
    for (unsigned index = 0; index < kRounds; ++index) {
      const std::uint64_t next = left ^ round(right, index);
      left = right;
      right = next;
    }
    value = left << network_.half_bits | right;
  } while (value >= n_);
  return value;
}

std::uint64_t Permutation::inverse(std::uint64_t j) const {
  std::uint64_t value = j;
  do {
    std::uint64_t left = value >> network_.half_bits, right = value & network_.half_mask;
    for (unsigned index = kRounds; index-- > 0;) {
      const std::uint64_t previous = right ^ round(left, index);
      right = left;
      left = previous;
    }
    value = left << network_.half_bits | right;
  } while (value >= n_);
  return value;
}

// Which values walk on is not foreseeable, so they are gathered, not branched upon.
void Permutation::walk_each(std::span<std::uint64_t> values, Through through) const {
  constexpr std::size_t kAtOnce = 1024, kMultiple = FeistelLanes::kMultiple;
  static_assert(kAtOnce % kMultiple == 0);
  alignas(64) std::array<std::uint64_t, kAtOnce> walking{};
  std::array<std::uint32_t, kAtOnce> places;
  for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
    const std::span<std::uint64_t> part =
        values.subspan(begin, std::min(kAtOnce, values.size() - begin));
    std::ranges::copy(part, walking.begin());
    for (std::uint32_t i = 0; i < part.size(); ++i) places[i] = i;
    for (std::size_t count = part.size(); count > 0;) {
      // The values after them are computed, too, and ignored.
      through(network_, std::span(walking).first((count + kMultiple - 1) / kMultiple * kMultiple));
      std::size_t still = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t value = walking[i];
        const std::uint32_t place = places[i];
        part[place] = value;
        walking[still] = value;
        places[still] = place;
        still += value >= n_ ? 1 : 0;
      }
      count = still;
    }
  }
}

void Permutation::at_each(std::span<std::uint64_t> positions) const {
  at_each(positions, best_lane_level());
}

void Permutation::inverse_each(std::span<std::uint64_t> samples) const {
  inverse_each(samples, best_lane_level());
}

void Permutation::at_each(std::span<std::uint64_t> positions, LaneLevel level) const {
  walk_each(positions, feistel_lanes(level).forward);
}

void Permutation::inverse_each(std::span<std::uint64_t> samples, LaneLevel level) const {
  walk_each(samples, feistel_lanes(level).backward);
}

}  // namespace shale
