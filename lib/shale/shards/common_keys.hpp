#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {

/// Some of the shards of a dataset, in order, and the folder that they lie in.
struct ShardsIn {
  DatasetPaths paths;
  ForEachShard for_each;
};

/// A key that two samples of all these shards have: by the hashes in their indexes, which are
/// proved, and by the keys where hashes are equal; nullopt: there is none. `scratch_folder` is for
/// what outgrows 8 MiB. Errors: Code::damaged; Code::io; what `events` throws to stop.
[[nodiscard]] std::optional<std::string> key_in_common(const Manifest& manifest,
                                                       const std::vector<ShardsIn>& sides,
                                                       const std::string& scratch_folder,
                                                       const Events& events);

/// The same of shards without such a key and others that come behind them, without one too: those
/// of the many that stand are passed once, and few of their keys are sorted. Nothing to do where
/// keys are no more than numbers.
[[nodiscard]] std::optional<std::string> key_in_common(const Manifest& manifest,
                                                       const ShardsIn& standing,
                                                       const ShardsIn& added,
                                                       const std::string& scratch_folder,
                                                       const Events& events);

/// Of a run that went on behind `before` shards in `work` and did not remember their keys. Errors:
/// Code::schema naming a key that a sample in them and one behind them have; same as
/// key_in_common.
void refuse_keys_of_before(const Manifest& manifest, const WorkFolder& work, std::uint64_t before,
                           const Events& events);

}  // namespace shale
