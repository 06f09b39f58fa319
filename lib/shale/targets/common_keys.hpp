#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/targets/dataset_output.hpp"

namespace shale {

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

}  // namespace shale
