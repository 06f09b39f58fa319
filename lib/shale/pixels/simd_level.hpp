#pragma once

namespace shale {

/// Which instructions the filters use. All levels compute the same bytes; other machines than
/// x86-64 have only `scalar`.
enum class SimdLevel { scalar, sse41, avx2 };
/// The highest that this machine has.
[[nodiscard]] SimdLevel best_simd_level();

}  // namespace shale
