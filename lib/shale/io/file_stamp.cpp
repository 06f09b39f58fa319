#include "shale/io/file_stamp.hpp"

#include <cerrno>

#include <sys/stat.h>

#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat facts {};
  if (retried(path, [&] { return ::stat(path.c_str(), &facts); }) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return FileStamp{};
    return std::nullopt;
  }
  return FileStamp{.device = facts.st_dev,
                   .inode = facts.st_ino,
                   .bytes = static_cast<std::uint64_t>(facts.st_size),
                   .modified_ns = nanoseconds(facts.st_mtim),
                   .changed_ns = nanoseconds(facts.st_ctim)};
}

}  // namespace shale
