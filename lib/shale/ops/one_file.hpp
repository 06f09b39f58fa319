#pragma once

#include "shale/base/events.hpp"
#include "shale/ops/convert_request.hpp"

namespace shale {

/// Writes an input into the file `request.output`, of the format that its suffix names
/// (format_of_output) and of any size. The file comes to its name when it is whole and durable, and
/// verified if that was asked for: a kill leaves nothing but a hidden work folder beside it, which
/// the next run of the same output clears. With request.with_index its index stands beside it then,
/// as index_file() would make it; an index of a file that is replaced goes. Samples that are
/// skipped are in the report alone. Memory: request.memory_bytes. Errors: Code::exists for an
/// existing output, without request.overwrite, for one that another process writes, and for files
/// of somebody else under the names of the index; Code::usage for an .npy file of several fields,
/// naming them; Code::unsupported for a field that the format cannot hold; same as open_input and
/// Conversion.
[[nodiscard]] ConvertReport convert_into_file(const ConvertRequest& request, const Events& events);

}  // namespace shale
