#pragma once

#include <string>

namespace shale {

/// Where files go that are nobody's business: $TMPDIR, or /tmp where that is unset or empty. It is
/// not looked at: whoever makes a file there finds out whether that is possible, and whoever makes
/// none need not care.
[[nodiscard]] std::string temporary_folder();

/// What to do about a folder in which no file can be made, if it is that one; else "".
[[nodiscard]] const char* temporary_folder_hint(const std::string& folder);

}  // namespace shale
