#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shale {

/// What is wrong with a string that is to be JSON (RFC 8259), and at which byte; nullopt if nothing
/// is. Nothing of it is kept, and its nesting costs a bit a level.
[[nodiscard]] std::optional<std::string> json_fault(std::string_view text);

}  // namespace shale
