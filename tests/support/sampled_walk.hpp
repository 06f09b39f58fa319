#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace shale::test {

/// The steps of a walk over every bit or every length that are taken on an ordinary day: one in so
/// many, from one that the seed decides on (SHALE_TEST_SEED, which tests/run.sh prints; 0 without
/// it). FLIPPED_BITS=all, as in tests/soak.sh, leaves none out.
struct SampledWalk {
  explicit SampledWalk(std::size_t one_in) {
    const char* bits = std::getenv("FLIPPED_BITS");
    if (bits != nullptr && std::string_view(bits) == "all") return;
    const char* seed = std::getenv("SHALE_TEST_SEED");
    step = one_in;
    first = (seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10)) % one_in;
  }
  std::size_t first = 0, step = 1;
};

/// Of a walk that is whole elsewhere: instrumented code takes ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kOneInIfInstrumented = 9;
#else
inline constexpr std::size_t kOneInIfInstrumented = 1;
#endif

}  // namespace shale::test
