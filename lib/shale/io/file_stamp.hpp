#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shale {

/// What the file system says of the file at a path, without opening it. After a change it says
/// something else, as far as its clock ticks; the other way round, touching a file changes it too.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, bytes = 0;  ///< all zero: there is no file
  std::int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// Nullopt where it cannot be known: permissions were given up, the storage does not answer.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::string& path);

}  // namespace shale
