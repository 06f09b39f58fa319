#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shale/base/events.hpp"
#include "shale/sampling/draw.hpp"

namespace shale {

/// The rows that an .npy file lists, slot by slot. rows_of reads the file, which must stay as it
/// is; each number is checked here, and again whenever it is read. For a sweep the whole list is
/// sorted: in memory if 64 KiB and 16 bytes per entry fit into `memory_bytes` (at least 1 MiB),
/// where they stay; else into a nameless file of 16 bytes per entry in `scratch_folder`, by a sort
/// that uses `memory_bytes`, but never less than 1.3 MiB.
/// Errors: same as NumberFile; Code::schema for numbers that are not integers, and, with file and
/// offset, for an entry that is outside [-source_rows, source_rows); Code::usage for entries of a
/// source without rows; Code::interrupted.
[[nodiscard]] std::unique_ptr<Draw> open_listed_draw(const std::string& path,
                                                     std::uint64_t source_rows,
                                                     std::uint64_t memory_bytes,
                                                     const std::string& scratch_folder,
                                                     const Events& events);

}  // namespace shale
