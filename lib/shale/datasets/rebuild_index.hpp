#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/events.hpp"

namespace shale {

/// What `rebuild_index` did with one shard.
struct RebuiltShard {
  std::string name;
  bool was_whole = false;  ///< index and block list were there and right: nothing was written
  bool has_index = true;   ///< false: its rows are fixed, there is none to rebuild
  bool index_written = false, blocks_written = false;
  std::string fault;  ///< why it could not be rebuilt: the shard itself is damaged
};

struct RebuildReport {
  std::vector<RebuiltShard> shards;
  std::uint64_t rebuilt = 0, whole = 0, failed = 0;
};

/// Rebuilds the lost or damaged indexes and block lists of a finished dataset from its shards.
/// What is made must have the size and hash that the manifest gives, byte for byte, before it takes
/// its final name; otherwise the shard itself has changed, nothing is written for it, and its
/// `fault` says so. Memory: one window a file and the block list of one shard. Errors:
/// Code::not_found, Code::mismatch and Code::damaged for a dataset without (whole) manifest:
/// nothing can be proved without it; Code::io.
/// `is_only_planned`: nothing is written; what would be is said.
[[nodiscard]] RebuildReport rebuild_index(const std::string& dataset, const Events& events,
                                          bool is_only_planned = false);

}  // namespace shale
