#pragma once

#include "shale/base/events.hpp"
#include "shale/requests/convert_request.hpp"

namespace shale {

/// Converts an input into a dataset of shards at `request.output`, or into one array if it
/// is_array_name(). The result depends on input and
/// options only, never on jobs, memory, machine or working directory. Killed at any moment it
/// leaves no manifest and only whole files under final names; run again, it clears that and
/// finishes the job. Memory: request.memory_bytes, whatever the number of samples. Errors: every
/// Code; the first in input order wins.
[[nodiscard]] ConvertReport convert(const ConvertRequest& request, const Events& events);

}  // namespace shale
