#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shale/ops/events.hpp"
#include "shale/ops/piece_reader.hpp"
#include "shale/ops/row_stream.hpp"

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

/// Opens and reads nothing. One pass is enough if it reads in pieces of 64 KiB or more.
/// Errors: as open_fortran, those of reading and writing excepted.
[[nodiscard]] FortranPlan plan_fortran(const FortranArray& array, std::uint64_t memory_bytes);

/// The rows of the array as a stream in C order. Its buffers together stay below `memory_bytes`,
/// at least kLeastFortranMemory, whatever the shape; where two passes are needed, the first is made
/// here, with a nameless scratch file in `scratch_folder`, which is not touched otherwise. `events`
/// is asked whether to stop, and not kept.
/// Errors: Code::damaged with both numbers if the array reaches past the end of its file;
/// Code::io, also if the scratch folder has too little room; Code::interrupted; Code::bug for less
/// memory, or a shape without axes.
[[nodiscard]] std::unique_ptr<RowStream> open_fortran(FortranArray array,
                                                      std::uint64_t memory_bytes,
                                                      const std::string& scratch_folder,
                                                      const Events& events);

}  // namespace shale
