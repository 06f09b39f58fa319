#pragma once

#include <cstddef>
#include <cstdint>

#include "shale/pixels/filter_windows.hpp"
#include "shale/pixels/simd_level.hpp"

namespace shale {

// Both passes of a filter in exact integers: vertical first, on the few rows that a window needs,
// then horizontal. Between them values have kRowBits fractional bits and are not clipped, so that
// what overshoots in one direction may come back in the other.
//   column value = (sum(sample * weight) + 2^7) >> 8           14 bits of weight, 6 remain
//   sample       = clip((sum(column value * weight) + 2^19) >> 20)
inline constexpr int kRowBits = 6;
inline constexpr int kDownShift = kWeightBits - kRowBits, kAcrossShift = kWeightBits + kRowBits;
/// Memory that rows must have beyond their last sample, in samples.
inline constexpr std::size_t kRowSlack = 32;

/// One pass at one SIMD level. All levels give the same results: sums are of integers that do not
/// overflow (docs: filter_rows.cpp), so their order does not matter.
struct FilterRows {
  /// into[x] = the weighted sum of rows[0..count)[x], for x in [0, width) and at most kRowSlack
  /// more. `count` >= 1.
  void (*down)(const std::uint8_t* const* rows, const std::int16_t* weights, std::size_t count,
               std::size_t width, std::int16_t* into);
  /// Output i of `into` from `row`, by window i. Reads up to weights_each values beyond the last
  /// one of the row, whose weights are 0.
  void (*across)(const std::int16_t* row, const FilterWindows& windows, std::uint8_t* into);
};
[[nodiscard]] const FilterRows& filter_rows(SimdLevel level);

/// The levels above scalar; those that this machine's compiler cannot make are the scalar one.
[[nodiscard]] const FilterRows& filter_rows_sse41();
[[nodiscard]] const FilterRows& filter_rows_avx2();

}  // namespace shale
