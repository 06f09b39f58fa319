#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shale {

/// A part of a damaged file: the samples in it cannot be read, or not be proved.
struct LostRange {
  std::uint64_t offset = 0, length = 0;  ///< its bytes; none: not in one place
  std::uint64_t before = 0;              ///< how many whole samples come before it
  std::uint64_t samples = 1;             ///< that are lost; the least number, if nobody knows
  std::string why;                       ///< without the place
  std::string key = {};                  ///< of the one sample in it, if it is known
};
using LostRanges = std::vector<LostRange>;  ///< in the order of the samples

}  // namespace shale
