#pragma once

#include <optional>
#include <string_view>

#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Refuses a dialect of LMDB for a file of another format; `kind` is "an HDF5 file". Errors:
/// Code::usage.
void refuse_lmdb_dialect(std::optional<Dialect> dialect, const InputFile& file,
                         std::string_view kind);

}  // namespace shale
