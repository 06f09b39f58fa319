#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shale/arrays/piece_reader.hpp"
#include "shale/arrays/row_stream.hpp"
#include "shale/base/events.hpp"

namespace shale {

/// An array in Fortran order: item (i, j, k) of shape (n, m, l) lies at
/// data_offset + item_bytes * (i + n * (j + m * k)). Nothing in it has been checked.
struct FortranArray {
  PieceSource file;
  std::uint64_t data_offset = 0;
  std::vector<std::uint64_t> shape;  ///< shape[0] rows; at least one axis
  std::uint64_t item_bytes = 0;
};

/// The least memory its rows can be read with.
inline constexpr std::uint64_t kLeastFortranMemory = 1 << 20;

/// How the rows of an array will be read.
struct FortranPlan {
  unsigned passes = 1;              ///< 2: read, written to a scratch file, and read again
  std::uint64_t scratch_bytes = 0;  ///< of the scratch file
};

/// Of an array whose bytes may lie in a file or come out of one that is compressed. One pass is
/// enough if it reads in pieces of 64 KiB or more. Errors: Code::bug for a shape that no file
/// holds, and as open_fortran.
[[nodiscard]] FortranPlan plan_fortran(std::span<const std::uint64_t> shape,
                                       std::uint64_t item_bytes, std::uint64_t memory_bytes);

/// The rows of the array as a stream in C order. Its buffers together stay below `memory_bytes`,
/// at least kLeastFortranMemory, whatever the shape; where two passes are needed, the first is made
/// here, with a nameless scratch file in `scratch_folder`, which is not touched otherwise. `events`
/// is asked whether to stop, and not kept.
/// Errors: Code::damaged with both numbers if the array reaches past the end of its file;
/// Code::io, also if the scratch folder has too little space; Code::interrupted; Code::bug for less
/// memory, or a shape without axes.
[[nodiscard]] std::unique_ptr<RowStream> open_fortran(FortranArray array,
                                                      std::uint64_t memory_bytes,
                                                      const std::string& scratch_folder,
                                                      const Events& events);

}  // namespace shale
