#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace shale::test {

/// Instrumented code takes ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsInstrumented = true;
#else
inline constexpr bool kIsInstrumented = false;
#endif

/// What a test draws on this run: SHALE_TEST_SEED, which tests/run.sh prints; 0 without it.
inline std::size_t test_seed() {
  const char* seed = std::getenv("SHALE_TEST_SEED");
  return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
}

/// FLIPPED_BITS=all, as in tests/soak.sh: nothing is left out.
inline bool walks_are_whole() {
  const char* bits = std::getenv("FLIPPED_BITS");
  return bits != nullptr && std::string_view(bits) == "all";
}

/// Of a walk of `steps` (every bit, every length) those that an ordinary run takes: about `most`
/// (less than twice as many), evenly spread, from one that the seed decides on; a fifth of that in
/// instrumented code.
struct SampledWalk {
  SampledWalk(std::size_t steps, std::size_t most) {
    if (walks_are_whole()) return;
    if (kIsInstrumented) most = std::max<std::size_t>(1, most / 5);
    step = (steps / most) | 1;  // odd: it meets every bit of a byte
    first = test_seed() % step;
  }
  std::size_t first = 0, step = 1;
};

}  // namespace shale::test
