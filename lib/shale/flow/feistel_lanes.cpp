#include "shale/flow/feistel_lanes.hpp"

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

}  // namespace shale
