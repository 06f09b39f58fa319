#pragma once

#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"

namespace shale {

/// What an HDF5 file holds at its root, and where it is. Every place is inside the file. Reads no
/// sample. `takes_damaged`: what cannot be read is among the others, and no place is given.
/// Errors: as run_hdf5_child; Code::damaged with the library's innermost message as cause;
/// Code::unsupported for a version that this library does not know, and for a root of more objects
/// than a set of columns has.
[[nodiscard]] Hdf5Description probe_hdf5_file(const InputFile& file,
                                              const WalkProgress& progress = {},
                                              bool takes_damaged = false);

}  // namespace shale
