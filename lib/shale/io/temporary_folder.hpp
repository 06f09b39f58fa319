#pragma once

#include <string>

namespace shale {

/// Where temporary files go: $TMPDIR, or /tmp if that is unset or empty. The folder is not
/// checked: creating a file there shows whether that is possible, and a run that creates none
/// does not care.
[[nodiscard]] std::string temporary_folder();

/// The hint for a folder in which no file can be created, if it is that one; else "".
[[nodiscard]] const char* temporary_folder_hint(const std::string& folder);

}  // namespace shale
