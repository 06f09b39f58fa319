#include "shale/flow/permutation.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shale/flow/random_words.hpp"

namespace shale {
namespace {

// One value is a chain of dependent multiplications, two a round; so many of them side by side fill
// the time of one.
constexpr std::size_t kSideBySide = 8;

// Backward is forward with the halves exchanged and the keys in reverse.
template <bool kIsBackward>
void through_scalar(const FeistelNetwork& network, std::span<std::uint64_t> values) {
  constexpr unsigned kRounds = FeistelNetwork::kRounds;
  for (std::size_t begin = 0; begin < values.size(); begin += kSideBySide) {
    const std::span<std::uint64_t> some = values.subspan(begin, kSideBySide);
    std::array<std::uint64_t, kSideBySide> high{}, low{};
    for (std::size_t i = 0; i < kSideBySide; ++i) {
      high[i] = some[i] >> network.half_bits;
      low[i] = some[i] & network.half_mask;
    }
    std::array<std::uint64_t, kSideBySide>&left = kIsBackward ? low : high,
                              &right = kIsBackward ? high : low;
    for (unsigned round = 0; round < kRounds; round += 2) {
      const std::uint64_t key = network.keys[kIsBackward ? kRounds - 1 - round : round];
      const std::uint64_t next_key = network.keys[kIsBackward ? kRounds - 2 - round : round + 1];
      for (std::size_t i = 0; i < kSideBySide; ++i)
        left[i] ^= mix(right[i] + key) & network.half_mask;
      for (std::size_t i = 0; i < kSideBySide; ++i)
        right[i] ^= mix(left[i] + next_key) & network.half_mask;
    }
    for (std::size_t i = 0; i < kSideBySide; ++i) some[i] = high[i] << network.half_bits | low[i];
  }
}

constexpr FeistelLanes kScalarLanes{.forward = through_scalar<false>,
                                    .backward = through_scalar<true>};

}  // namespace

LaneLevel best_lane_level() {
#if defined(__x86_64__)
  static const LaneLevel level = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
      return LaneLevel::avx512;
    return __builtin_cpu_supports("avx2") ? LaneLevel::avx2 : LaneLevel::scalar;
  }();
  return level;
#else
  return LaneLevel::scalar;
#endif
}

const FeistelLanes& feistel_lanes(LaneLevel level) {
  switch (level) {
    case LaneLevel::avx512:
      return feistel_lanes_avx512();
    case LaneLevel::avx2:
      return feistel_lanes_avx2();
    case LaneLevel::scalar:
      break;
  }
  return kScalarLanes;
}

#if !defined(__x86_64__)
const FeistelLanes& feistel_lanes_avx2() { return kScalarLanes; }
const FeistelLanes& feistel_lanes_avx512() { return kScalarLanes; }
#endif

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
