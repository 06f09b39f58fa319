#pragma once

#include "shale/format/format.hpp"

#include "formats/hdf5/hdf5_columns.hpp"

namespace shale {

/// Proves that a shard of fixed rows is what shale writes for input.samples rows: its metadata to
/// the byte, its size, and the columns where the manifest says. The values are not looked at: any
/// bytes are rows. Errors: Code::io.
void scan_fixed_hdf5(const ShardInput& input, const Hdf5Plan& plan, const FindingSink& findings);

}  // namespace shale
