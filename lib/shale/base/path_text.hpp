#pragma once

#include <string>
#include <string_view>

// Paths as text: nothing here looks at a disk.

namespace shale {

/// directory + "/" + name; only the name if there is no directory.
[[nodiscard]] std::string join_path(std::string_view directory, std::string_view name);

/// The folder that a path names a file in: "." without one.
[[nodiscard]] std::string folder_of_file(std::string_view path);

}  // namespace shale
