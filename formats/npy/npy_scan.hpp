#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// Proves that each file of a shard is one .npy array of its field, with the very header that the
/// writer gives so many samples, and their rows behind it, no byte more or less; of a file of
/// another tool, what scan_foreign_npy() proves. Gives no rows, and reads none.
void scan_npy_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                    const FindingSink& findings);

}  // namespace shale
