#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"

namespace shale {

/// Room that is taken in a scratch folder.
struct ScratchNeed {
  std::uint64_t most = 0;  ///< at any moment
  std::uint64_t kept = 0;  ///< of it, until all is done
};

/// Bytes that may still be written to the folder's file system, by root into what is reserved for
/// it, too; nullopt if it cannot be asked. A quota is not seen: no call tells it for every file
/// system. Source: statvfs(3).
[[nodiscard]] std::optional<std::uint64_t> free_space(const std::string& folder);
/// The same of the file system of an open file.
[[nodiscard]] std::optional<std::uint64_t> free_space(int descriptor);
/// Files and folders that may still be made there: free inodes. Nullopt if it cannot be asked, or
/// the file system has no such limit (btrfs, FAT, some network file systems say 0 of 0).
[[nodiscard]] std::optional<std::uint64_t> free_files(const std::string& folder);

/// What is about to be written to one file system.
struct SpaceNeed {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;  ///< files and folders that are made
};

/// True if there is room for it, or that cannot be asked.
[[nodiscard]] bool has_room(const std::string& folder, const SpaceNeed& need);
/// True for file systems that may store less than they are given, by compression or because a
/// server decides: there, too little free space is no reason to refuse.
[[nodiscard]] bool may_store_less(const std::string& folder);
/// Errors: Code::io, with the folder and both numbers, for less free space or fewer free inodes;
/// where it cannot be asked, the first write will tell.
void require_room(const std::string& folder, const SpaceNeed& need, std::string_view hint);
/// The same for bytes alone.
void require_free_space(
    const std::string& folder, std::uint64_t bytes,
    std::string_view hint =
        "free some space, or choose another folder; --tmp moves temporary files");

/// The reasons that end a run at once, however flaky the storage is: ENOSPC, EDQUOT, EFBIG.
[[nodiscard]] bool is_no_room(int error_number);
/// Completes the error of a call that makes, grows, renames or syncs what is at `path`: the
/// system's reason, and where that is a lack of room, what is free and what to do.
[[nodiscard]] Error because_of_room(Error error, const std::string& path, int error_number);
/// What to do about such a lack; empty for other errors.
[[nodiscard]] std::string_view room_hint(int error_number);

}  // namespace shale
