#pragma once

#include <optional>
#include <string_view>

#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Refuses a dialect of another format; `kind` is what the file is: "an HDF5 file". Errors:
/// Code::usage.
void refuse_hdf5_dialect(std::optional<Dialect> dialect, const InputFile& file,
                         std::string_view kind);
/// The same for a dialect of LMDB, and of both.
void refuse_lmdb_dialect(std::optional<Dialect> dialect, const InputFile& file,
                         std::string_view kind);
void refuse_dialect(std::optional<Dialect> dialect, const InputFile& file, std::string_view kind);

}  // namespace shale
