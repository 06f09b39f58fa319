#pragma once

#include <optional>

#include "shale/base/finding.hpp"
#include "shale/columns/own_rows.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Reads the metadata of a shard without the HDF5 library. Datasets may come in any order, at any
/// address, with anything harmless beside them (attributes, fill values, times). Nullopt, after
/// findings, if a dataset is missing, has another type, shape or storage, lies outside the file or
/// in another's bytes. Memory: at most 32 MiB. Errors: Code::io.
[[nodiscard]] std::optional<ShardDirectory> read_shard_directory(const InputFile& file,
                                                                 const Hdf5Plan& plan,
                                                                 const FindingSink& findings);

/// The schema of a file that shale wrote and nobody has changed since, from the attribute that says
/// it; nullopt for any other file. Errors: Code::io.
[[nodiscard]] std::optional<Schema> recognize_own_hdf5(const InputFile& file,
                                                       const WalkProgress& progress);

}  // namespace shale
