#pragma once

#include "shale/format/file_contents.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// All datasets of an HDF5 file, as Format::list_contents says: at any depth, but for those of
/// groups of more than 1,024 objects. A member of a compound type is one by itself. Errors: same as
/// probe_hdf5_file.
[[nodiscard]] FileContents list_hdf5_contents(const InputFile& file, const WalkProgress& progress);

}  // namespace shale
