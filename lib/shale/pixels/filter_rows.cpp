//  No sum overflows: the absolute weights of a window add up to less than 1.7 * 2^14 (those of the
//  kernel to 1.43, see tests/unit/pixels/test_filter_windows.cpp), so a sum of bytes stays below
//  255 * 1.7 * 2^14 < 2^23, a column value below 255 * 1.7 * 2^6 < 2^15, and a sum of column values
//  below 2^15 * 1.7 * 2^14 < 2^30.

#include "shale/pixels/filter_rows.hpp"

#include <algorithm>

namespace shale {
namespace {

void down_scalar(const std::uint8_t* const* rows, const std::int16_t* weights, std::size_t count,
                 std::size_t width, std::int16_t* into) {
  for (std::size_t x = 0; x < width; ++x) {
    int sum = 1 << (kDownShift - 1);
    for (std::size_t i = 0; i < count; ++i) sum += rows[i][x] * weights[i];
    into[x] = static_cast<std::int16_t>(sum >> kDownShift);
  }
}

void across_scalar(const std::int16_t* row, const FilterWindows& windows, std::uint8_t* into) {
  const std::int16_t* weights = windows.weights.data();
  for (std::size_t i = 0; i < windows.begin.size(); ++i, weights += windows.weights_each) {
    int sum = 1 << (kAcrossShift - 1);
    for (std::size_t k = 0; k < windows.count[i]; ++k) {
      sum += row[windows.begin[i] + k] * weights[k];
    }
    into[i] = static_cast<std::uint8_t>(std::clamp(sum >> kAcrossShift, 0, 255));
  }
}

constexpr FilterRows kScalar = {down_scalar, across_scalar};

}  // namespace

const FilterRows& filter_rows(SimdLevel level) {
  switch (level) {
    case SimdLevel::avx2:
      return filter_rows_avx2();
    case SimdLevel::sse41:
      return filter_rows_sse41();
    case SimdLevel::scalar:
      break;
  }
  return kScalar;
}

SimdLevel best_simd_level() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return SimdLevel::avx2;
  if (__builtin_cpu_supports("sse4.1")) return SimdLevel::sse41;
#endif
  return SimdLevel::scalar;
}

}  // namespace shale
