#include "shale/io/free_space.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "shale/base/size_text.hpp"

namespace shale {

namespace {

std::uint64_t free_bytes_of(const struct statvfs& system) {
  const std::uint64_t blocks = ::geteuid() == 0 ? system.f_bfree : system.f_bavail;
  return blocks * system.f_frsize;
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

bool has_room(const std::string& folder, const SpaceNeed& need) {
  return free_space(folder).value_or(need.bytes) >= need.bytes &&
         free_files(folder).value_or(need.files) >= need.files;
}

bool may_store_less(const std::string& folder) {
  // Those that compress, and what may lie on one: network file systems, FUSE, layers. Numbers that
  // the kernel's headers lack are those of their projects.
  constexpr std::uint32_t kZfs = 0x2fc1'2fc1, kBcachefs = 0xca45'1a4e, kLustre = 0x0bd0'0bd0;
  constexpr std::array<std::uint32_t, 13> kMayStoreLess{BTRFS_SUPER_MAGIC,
                                                        F2FS_SUPER_MAGIC,
                                                        kZfs,
                                                        kBcachefs,
                                                        kLustre,
                                                        NFS_SUPER_MAGIC,
                                                        SMB_SUPER_MAGIC,
                                                        CIFS_SUPER_MAGIC,
                                                        SMB2_SUPER_MAGIC,
                                                        V9FS_MAGIC,
                                                        CEPH_SUPER_MAGIC,
                                                        FUSE_SUPER_MAGIC,
                                                        OVERLAYFS_SUPER_MAGIC};
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return true;
  const auto type = static_cast<std::uint32_t>(system.f_type);
  return std::find(kMayStoreLess.begin(), kMayStoreLess.end(), type) != kMayStoreLess.end();
}

void require_room(const std::string& folder, const SpaceNeed& need, std::string_view hint) {
  const std::optional<std::uint64_t> bytes = need.bytes == 0 ? std::nullopt : free_space(folder);
  if (bytes && *bytes < need.bytes) {
    const bool are_alike = format_size(need.bytes) == format_size(*bytes);
    const auto text = [&](std::uint64_t size) {
      return are_alike ? format_count(size) + " bytes" : format_size(size);
    };
    throw Error(Code::io, "needs {} of free space, only {} available", text(need.bytes),
                text(*bytes))
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
      return "raise the limit (ulimit -f); where shards are written, --shard-size makes smaller "
             "files";
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
