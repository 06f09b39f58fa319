#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// The option of manifests that holds the names of the folders that samples were joined from:
/// "image,mask".
inline constexpr std::string_view kFoldersOption = "folders";

/// One of several folders whose files belong together: those of one name become one sample, each a
/// field of it.
struct NamedFolder {
  std::string field, root;
  /// Called for each folder below the root that is entered (WalkOptions::enters): may throw.
  std::function<void(std::uint64_t device, std::uint64_t inode)> enters = nullptr;
};

/// The names of folders, as the option has them.
[[nodiscard]] std::string names_text(const std::vector<NamedFolder>& folders);

}  // namespace shale
