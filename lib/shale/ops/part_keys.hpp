#pragma once

#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"

namespace shale {

/// True if no two samples of a run can have the same key, whoever wrote which part: keys that are
/// paths, or numbers, or were unique in another dataset.
[[nodiscard]] bool has_unique_keys(const Manifest& manifest);

/// Looks for two samples with the same key in all of these datasets together: by the hashes in
/// their indexes, which are proved, and the keys whose hashes are equal. `scratch_folder` is for
/// what outgrows 4 MiB. Errors: Code::schema for two such samples; Code::damaged; Code::io;
/// Code::interrupted.
void refuse_keys_in_common(const std::vector<std::string>& datasets,
                           const std::string& scratch_folder, const Events& events);

}  // namespace shale
