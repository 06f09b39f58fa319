#pragma once

#include <string>

#include "shale/ops/inspect.hpp"

#include "tools/console.hpp"

// What `shale info` says of a file of named arrays.

namespace shale::tools {

/// Adds the arrays, and the commands that convert them.
void add_array_facts(Json& json, const DatasetInfo& info);
/// Of a file whose arrays are not read in place as a table: info.obstacle says why.
[[nodiscard]] Json arrays_facts(const DatasetInfo& info);

/// The same for people: a line per array.
[[nodiscard]] std::string listed_arrays_text(const DatasetInfo& info);
[[nodiscard]] std::string arrays_text(const DatasetInfo& info, const std::string& path);

}  // namespace shale::tools
