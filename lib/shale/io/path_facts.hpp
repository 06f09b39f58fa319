#pragma once

#include <optional>
#include <string>

#include <sys/stat.h>

namespace shale {

/// What is at a path, a link itself; nullopt if nothing does. A fault of the storage is not
/// "nothing": it is repeated (StorageRetry), then thrown. Errors: Code::io.
[[nodiscard]] std::optional<struct stat> facts_at(const std::string& path);
/// The same of what links lead to.
[[nodiscard]] std::optional<struct stat> facts_behind(const std::string& path);

/// Something has this name, be it a link that leads nowhere. Errors: same as facts_at.
[[nodiscard]] bool stands(const std::string& path);
/// A folder, not a link to one. Errors: same as facts_at.
[[nodiscard]] bool is_real_folder(const std::string& path);

}  // namespace shale
