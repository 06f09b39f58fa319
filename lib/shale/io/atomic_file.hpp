#pragma once

#include <string>

#include "shale/base/bytes.hpp"

namespace shale {

/// Makes the names in a directory durable (fsync of the directory). Errors: Code::io.
void sync_directory(const std::string& directory);

/// Renames within one file system, replacing `to`; durable only after sync_directory. Errors:
/// Code::io.
void rename_file(const std::string& from, const std::string& to);

/// Writes `bytes` to `path` so that a reader, or a kill at any moment, sees the old file or the new
/// one, never a part: temporary name in the same directory, fsync, rename, fsync of the directory.
/// Errors: Code::io.
void write_file_atomically(const std::string& path, Bytes bytes);

}  // namespace shale
