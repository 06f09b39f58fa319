#pragma once

#include <optional>
#include <string>

#include "shale/base/error.hpp"

// Folders as Hugging Face's tools leave them: a repository of the hub, with its files in `data`
// beside the README, and what Dataset.save_to_disk writes.

namespace shale {

/// The folder that has the files: `data` of one that has nothing else but text; else the folder
/// itself.
[[nodiscard]] std::string folder_of_files(const std::string& folder);

/// The error for a folder that `datasets` saved as Arrow files, which are not read, with the
/// command that exports it; nullopt for any other.
[[nodiscard]] std::optional<Error> saved_as_arrow(const std::string& folder);

}  // namespace shale
