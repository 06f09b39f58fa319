#pragma once

#include <string>
#include <vector>

#include "shale/native/native_indexes.hpp"
#include "shale/requests/convert_request.hpp"

#include "tools/command.hpp"

// The indexes of other programs (--native), as `shale index` and `shale convert` say what they
// wrote.

namespace shale::tools {

[[nodiscard]] std::string native_text(const NativeIndexReport& report, bool is_plan);
[[nodiscard]] Json native_facts(const NativeIndexReport& report);

/// The kinds that a conversion is asked for. Errors: Code::usage, also for an output without tars.
[[nodiscard]] std::vector<NativeKind> native_kinds(const CommandLine& line,
                                                   const ConvertRequest& request);

}  // namespace shale::tools
