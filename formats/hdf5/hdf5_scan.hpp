#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// Scans a shard as layout.dialect says. Errors: Code::io; for shards of other tools also what
/// survey() throws.
void scan_hdf5_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                     const FindingSink& findings);

}  // namespace shale
