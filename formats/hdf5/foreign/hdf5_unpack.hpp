#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/format/format.hpp"

namespace shale {

/// Writes what an HDF5 file of another tool holds into a plain one, `request.into`, whose datasets
/// lie in one piece each: survey_hdf5_file then locates what it cannot locate in the original
/// (compressed datasets, samples split over chunks). The library reads in a child process
/// (hdf5_probe.hpp), this process writes. Nullopt, and nothing written, if nothing is to be
/// unpacked. Errors: Code::unsupported, by dataset, for what cannot be read or that no field can
/// hold; Code::limit for chunks larger than a quarter of the memory; Code::io, before anything is
/// written, if there is not enough space; as run_hdf5_child.
[[nodiscard]] std::optional<UnpackReport> unpack_hdf5_file(const UnpackRequest& request);

}  // namespace shale
