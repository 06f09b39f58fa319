#pragma once

#include <memory>

#include "shale/targets/target.hpp"

namespace shale {

/// Where the result of the request comes to stand.
[[nodiscard]] std::unique_ptr<Target> target_of(const ConvertRequest& request);

}  // namespace shale
