#pragma once

#include "shale/format/file_contents.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"

namespace shale {

/// All datasets of a file that is described, as Format::list_contents says: at any depth, but for
/// those of groups of more than 1,024 objects. A member of a compound type is one by itself.
/// `format` is left empty.
[[nodiscard]] FileContents hdf5_contents_of(const Hdf5Description& all, const InputFile& file);

}  // namespace shale
