#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/ops/repair_request.hpp"
#include "shale/shards/manifest_file.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {

/// A shard that was made again: `shard` has the names that its files have in work.path(), where
/// they are called as those of the first shard.
using ShardSink = std::function<void(std::uint64_t number, const ManifestShard& shard)>;

/// Encodes these shards of a dataset (ascending) once more, from what it was made from, one after
/// the other into work.path(): samples before, between and after them are passed over without being
/// read. Errors: same as repair.
void make_shards_again(const RepairRequest& request, const ShardList& shards,
                       const std::vector<std::uint64_t>& numbers, WorkFolder& work,
                       const Events& events, const ShardSink& sink);

}  // namespace shale
