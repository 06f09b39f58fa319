#pragma once

#include <string>

namespace shale {

/// The same open file under a number above those of stdin, stdout and stderr, and only there; -1
/// stays -1, with its errno. In a process that was started with one of these closed (Python has no
/// main of ours), a file gets its number, and what libraries print, or a child that points them at
/// /dev/null, would hit the file. Errors: -1 with errno, and the file is closed.
[[nodiscard]] int above_standard_descriptors(int descriptor) noexcept;

/// Where an open file is, for messages: relative to the working directory if it is below it. Empty
/// if it has no name.
[[nodiscard]] std::string path_of(int descriptor);

}  // namespace shale
