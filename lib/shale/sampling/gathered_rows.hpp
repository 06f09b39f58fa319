#pragma once

#include <cstdint>
#include <memory>

#include "shale/arrays/located_rows.hpp"
#include "shale/base/events.hpp"
#include "shale/sampling/draw.hpp"

namespace shale {

/// The least memory that rows can be gathered with.
inline constexpr std::uint64_t kLeastGatherMemory = 2 << 20;

struct GatherLimits {
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 0;   ///< at least kLeastGatherMemory
  bool reads_whole_source = false;  ///< into memory, if it fits_gather_memory(), and its rows do
};

/// True if a source is small enough to be read once and gathered from memory.
[[nodiscard]] constexpr bool fits_gather_memory(std::uint64_t source_bytes,
                                                std::uint64_t memory_bytes) {
  return source_bytes <= memory_bytes / 2;
}

/// The drawn rows, read in place: the rows of a few MiB of the output at a time, in the order
/// of the source, with many reads in flight. Rows larger than the memory come in parts; a small
/// source may be read once instead. `rows`, `draw` and `events` must outlive the result.
/// Errors: same as RowLoader and Draw::rows_of; Code::limit for big-endian rows whose single
/// elements are larger than the memory; Code::interrupted.
[[nodiscard]] std::unique_ptr<DrawnRows> open_gathered_rows(const LocatedRows& rows,
                                                            const Draw& draw,
                                                            const GatherLimits& limits,
                                                            const Events& events);

}  // namespace shale
