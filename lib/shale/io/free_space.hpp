#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shale {

/// Room that is taken in a scratch folder.
struct ScratchNeed {
  std::uint64_t most = 0;  ///< at any moment
  std::uint64_t kept = 0;  ///< of it, until all is done
};

/// Bytes that may still be written to the folder's file system by a process that is not root;
/// nullopt if it cannot be asked. Source: statvfs(3).
[[nodiscard]] std::optional<std::uint64_t> free_space(const std::string& folder);
/// The same of the file system of an open file.
[[nodiscard]] std::optional<std::uint64_t> free_space(int descriptor);

/// Errors: Code::io, with the folder and both numbers, for less free space; where it cannot be
/// asked, the first write will tell.
void require_free_space(
    const std::string& folder, std::uint64_t bytes,
    std::string_view hint =
        "free some space, or choose another folder; --tmp moves temporary files");

}  // namespace shale
