#pragma once

#include <string_view>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// The error for --parse msgpack and a file of another format; `kind` is "an HDF5 file".
[[nodiscard]] Error msgpack_needs_lmdb(const InputFile& file, std::string_view kind);

}  // namespace shale
