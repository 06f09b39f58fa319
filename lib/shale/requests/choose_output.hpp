#pragma once

#include <string>

#include "shale/requests/convert_request.hpp"

namespace shale {

/// Puts format, bounds of the shards and the rest into the request, as the name of `request.output`
/// has it: one file, or a directory of shards. Errors: Code::usage for another format than that of
/// its suffix, where the output is one file; for an output of shards without a format, or one that
/// nobody knows; for a layout of another kind of output; for shards of no samples; same as
/// refuse_stream, format_of_output and refuse_combinations.
void choose_output(ConvertRequest& request, const OutputOptions& options);

/// Errors: Code::usage for '-', which stands for a stream; Code::unsupported for a URL.
void refuse_stream(const std::string& output);

}  // namespace shale
