#pragma once

#include <string>

#include "shale/base/error.hpp"

namespace shale {

/// Makes the names in a directory durable (fsync of the directory), where it can be read and its
/// file system knows how. Errors: Code::io.
void sync_directory(const std::string& directory);

/// Makes one folder: false if there is one, or a link to one. Errors: Code::io.
[[nodiscard]] bool make_directory(const std::string& path);
/// The error for one that cannot be made. To be thrown.
[[nodiscard]] Error cannot_make_directory(const std::string& path, int error_number);

/// Renames within one file system, replacing `to`; durable only after sync_directory. Errors:
/// Code::io.
void rename_file(const std::string& from, const std::string& to);

/// The same, but never over anything: false, and nothing has changed, if `to` is taken. (Where the
/// file system cannot promise it, one that appears in the same moment is replaced.)
[[nodiscard]] bool rename_to_free_name(const std::string& from, const std::string& to);

/// Gives the file at `from`, also where that is a link to it, a second name on the same file
/// system. False, and nothing has changed, where there are no such links or no more of them, or the
/// two are on different file systems. Errors: Code::io; also if `to` is taken.
[[nodiscard]] bool link_file(const std::string& from, const std::string& to);

/// Removes a name: true if nothing has it any more, also if nothing had; else false, with errno.
bool remove_file(const std::string& path) noexcept;

}  // namespace shale
