#pragma once

#include "shale/base/events.hpp"
#include "shale/manifest/manifest_file.hpp"

namespace shale {

/// Looks for a key that both a dataset and the shards that come behind it have: by the hashes in
/// their indexes, each read once, and by the keys where hashes are equal. Nothing to do where keys
/// are no more than numbers. Memory: 16 MiB; more is sorted on disk, in the folder of the new
/// shards. Errors: Code::schema naming the key; Code::damaged; Code::io; what `events` throws to
/// stop.
void refuse_standing_keys(const DatasetPaths& standing, const ShardList& shards,
                          const DatasetPaths& added, const ForEachShard& added_shards,
                          const Events& events);

}  // namespace shale
