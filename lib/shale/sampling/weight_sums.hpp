#pragma once

#include <cstdint>
#include <string>

#include "shale/arrays/number_file.hpp"
#include "shale/base/events.hpp"
#include "shale/flow/split_counts.hpp"

namespace shale {

/// The sums of the n weights in a file, below 2^62, in integers alone: with W the largest weight,
/// and 2^E the smallest power of two above it, a weight w counts floor(w * 2^(S - E)), where
/// S = 62 - bit_width(n). So weights keep their proportion to within 2^(1 - S) of W, and those
/// smaller than that may count nothing. A weight of 0 counts 0.
/// Reads the file twice. What is returned is thread-safe and no longer needs the file: it holds the
/// sums, 8 bytes per row, in memory if they take at most `memory_bytes`, else in a nameless scratch
/// file in `scratch_folder` (which then is read at each call).
/// Errors: Code::schema, with file, offset and row, for a weight that is negative or not finite,
/// and for weights that are all 0; Code::damaged for a bool that is neither 0 nor 1, and if the
/// file changes in the meantime; Code::io; Code::interrupted.
[[nodiscard]] SplitCounts::WeightSums sums_of_weights(const NumberFile& file,
                                                      std::uint64_t memory_bytes,
                                                      const std::string& scratch_folder,
                                                      const Events& events);

}  // namespace shale
