#pragma once

#include <string>
#include <vector>

#include "shale/ops/convert.hpp"

namespace shale {

/// The paths that a conversion reads.
[[nodiscard]] std::vector<std::string> inputs_of(const ConvertRequest& request);

/// Refuses an output that is an input (by device and inode: through any spelling, link or mount),
/// lies inside of one or holds one; that is another output or lies inside of one; or that lies
/// inside of a dataset. What cannot be resolved (no permission, a loop of links) is left to whoever
/// opens it. Errors: Code::usage.
void refuse_nested(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// Refuses an output whose folder is a dataset, or lies inside of one. Errors: Code::usage.
void refuse_inside_dataset(const std::string& output, const std::string& folder);

}  // namespace shale
