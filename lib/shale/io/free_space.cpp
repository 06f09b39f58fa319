#include "shale/io/free_space.hpp"

#include <cerrno>
#include <system_error>

#include <sys/statvfs.h>

#include "shale/base/size_text.hpp"

namespace shale {

namespace {

std::uint64_t free_bytes_of(const struct statvfs& system) {
  return std::uint64_t{system.f_bavail} * system.f_frsize;
}

std::string folder_above(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

std::optional<std::uint64_t> free_space(const std::string& folder) {
  struct statvfs system {};
  return ::statvfs(folder.c_str(), &system) == 0 ? std::optional(free_bytes_of(system))
                                                 : std::nullopt;
}

std::optional<std::uint64_t> free_space(int descriptor) {
  struct statvfs system {};
  return ::fstatvfs(descriptor, &system) == 0 ? std::optional(free_bytes_of(system)) : std::nullopt;
}

std::optional<std::uint64_t> free_files(const std::string& folder) {
  struct statvfs system {};
  if (::statvfs(folder.c_str(), &system) != 0 || system.f_files == 0) return std::nullopt;
  return system.f_favail;
}

void require_room(const std::string& folder, const SpaceNeed& need, std::string_view hint) {
  const std::optional<std::uint64_t> bytes = need.bytes == 0 ? std::nullopt : free_space(folder);
  if (bytes && *bytes < need.bytes) {
    throw Error(Code::io, "needs {} of free space, only {} available", format_size(need.bytes),
                format_size(*bytes))
        .at(folder)
        .hint(std::string(hint));
  }
  const std::optional<std::uint64_t> files = need.files == 0 ? std::nullopt : free_files(folder);
  if (files && *files < need.files) {
    throw Error(Code::io, "needs {} free inodes, one for each file, only {} available",
                format_count(need.files), format_count(*files))
        .at(folder)
        .hint(
            "remove files from this file system, choose another one, or write fewer files with a "
            "larger --shard-size");
  }
}

void require_free_space(const std::string& folder, std::uint64_t bytes, std::string_view hint) {
  require_room(folder, {.bytes = bytes}, hint);
}

bool is_no_room(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

std::string_view room_hint(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "free some space on this file system or choose another one, then run the same command "
             "again";
    case EDQUOT:
      return "your quota on this file system is exhausted; remove files or request more";
    case EFBIG:
      return "raise the limit (ulimit -f), or make smaller shards with --shard-size";
    default:
      return {};
  }
}

Error because_of_room(Error error, const std::string& path, int error_number) {
  std::string cause = std::generic_category().message(error_number);
  if (error_number == ENOSPC || error_number == EDQUOT) {
    // The file itself may not have come to be.
    const std::string folder = free_space(path) ? path : folder_above(path);
    const std::optional<std::uint64_t> bytes = free_space(folder), files = free_files(folder);
    if (bytes) cause += fmt::format(" ({} free", format_counted(*bytes, "byte", "bytes"));
    if (bytes && files)
      cause += fmt::format(", {}", format_counted(*files, "free inode", "free inodes"));
    if (bytes) cause += ")";
    if (files == 0U && error_number == ENOSPC) {
      error.hint(
          "this file system has no inode left for another file: remove files or choose another "
          "one, then run the same command again");
    }
  }
  error.at(path).because(cause);
  if (is_no_room(error_number)) error.hint(room_hint(error_number));
  return error;
}

}  // namespace shale
