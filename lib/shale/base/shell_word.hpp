#pragma once

#include <string>
#include <string_view>

namespace shale {

/// A path, or anything else, as one word of a POSIX shell.
[[nodiscard]] std::string shell_word(std::string_view path);

}  // namespace shale
