#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// Proves that each file of a shard is one .npy array of its field, little-endian, in C order, with
/// the samples that the manifest says, and nothing behind it.
void scan_npy_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                    const FindingSink& findings);

}  // namespace shale
