#include "shale/io/open_folder.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

[[noreturn]] void throw_stat_error(const std::string& path, int error) {
  Error failure(Code::io, "cannot be read (stat)");
  if (error == ENOENT || error == ELOOP)
    failure.hint("if it is a broken link, remove it or restore what it points to");
  throw failure.at(path).because_errno(error);
}

}  // namespace

OpenFolder::OpenFolder(std::string path, bool is_root) : path_(std::move(path)) {
  // Not by opendir: O_NONBLOCK and O_DIRECTORY are wanted, so that a FIFO put there in between
  // cannot block.
  const int descriptor = retried(path_, [&] {
    return ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
  });
  stream_.reset(descriptor >= 0 ? ::fdopendir(descriptor) : nullptr);
  if (stream_) return;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  throw Error(is_root && error == ENOENT ? Code::not_found : Code::io, "folder cannot be opened")
      .at(path_)
      .because_errno(error);
}

const dirent* OpenFolder::next() {
  StorageRetry retry(path_);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream_.get());
    if (entry == nullptr && errno != 0) {
      const int error = errno;
      if (retry.again(error)) continue;
      throw Error(Code::io, "folder cannot be read").at(path_).because_errno(error);
    }
    const std::string_view name = entry != nullptr ? entry->d_name : "";
    if (name != "." && name != "..") return entry;
  }
}

struct stat OpenFolder::facts() const {
  struct stat facts {};
  if (retried(path_, [&] { return ::fstat(::dirfd(stream_.get()), &facts); }) != 0)
    throw_stat_error(path_, errno);
  return facts;
}

struct stat OpenFolder::facts_of(const char* name) const {
  struct stat facts {};
  const auto ask = [&] { return ::fstatat(::dirfd(stream_.get()), name, &facts, 0); };
  if (retried(path_, ask) != 0) throw_stat_error(join_path(path_, name), errno);
  return facts;
}

}  // namespace shale
