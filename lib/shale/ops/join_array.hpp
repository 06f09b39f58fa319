#pragma once

#include "shale/base/events.hpp"
#include "shale/ops/convert_request.hpp"

namespace shale {

/// Writes one column of an input, all of its rows, into the .npy file `request.output`, whose
/// header is NumPy's own. The file comes to its name when it is whole and durable: a kill leaves
/// nothing but a hidden temporary beside it, which the next run of the same output replaces.
/// Memory: request.memory_bytes. Errors: Code::exists for an existing output, without
/// request.overwrite, or that another process writes; Code::usage for an input of several fields,
/// naming them; Code::unsupported for a field whose values differ in size; same as open_input.
[[nodiscard]] ConvertReport join_into_array(const ConvertRequest& request, const Events& events);

}  // namespace shale
