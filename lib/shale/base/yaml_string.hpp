#pragma once

#include <string>
#include <string_view>

namespace shale {

/// A string as YAML 1.1 and 1.2 read it back, in double quotes: what YAML does not print, and what
/// it takes for the end of a line, is escaped. `utf8` is well-formed.
[[nodiscard]] std::string yaml_string(std::string_view utf8);

}  // namespace shale
