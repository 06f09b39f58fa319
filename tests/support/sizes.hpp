#pragma once

#include <cstdint>

namespace shale::test {

inline constexpr std::uint64_t kMebi = 1 << 20;

}  // namespace shale::test
