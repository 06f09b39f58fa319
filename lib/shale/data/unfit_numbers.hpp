#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shale {

/// Numbers of a sample, or of a run of samples, that the type which they are cast to does not hold.
struct UnfitNumbers {
  std::uint64_t count = 0;
  std::string first;     ///< in words: "300 in field 'n', which uint8 cannot hold"
  std::string key = {};  ///< of the sample of a run that has the first one
  /// Of a run: the rows that have any, and how many.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows = {};
};

}  // namespace shale
