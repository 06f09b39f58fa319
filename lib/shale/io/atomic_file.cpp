#include "shale/io/atomic_file.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

Error rename_error(const std::string& from, const std::string& to, int error_number) {
  return Error(Code::io, "cannot be renamed to '{}'", printable(to))
      .at(from)
      .because_errno(error_number);
}

Error not_durable(const std::string& directory, int error_number) {
  return Error(Code::io, "cannot flush the folder to disk")
      .at(directory)
      .because_errno(error_number);
}

}  // namespace

void sync_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    if (error == EACCES) return;  // may be written to, but not read: there is no way to sync it
    throw not_durable(directory, error);
  }
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // EINVAL: this file system (some FUSE and SMB ones) has no fsync for folders, and nothing better
  // to offer.
  if (error != 0 && error != EINVAL) {
    throw not_durable(directory, error);
  }
}

void rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw rename_error(from, to, errno);
}

bool rename_to_free_name(const std::string& from, const std::string& to) {
  // By its number: musl has no function of that name.
  if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) throw rename_error(from, to, errno);
  // FUSE and NFS: the next best.
  struct stat taken {};
  if (::lstat(to.c_str(), &taken) == 0) return false;
  rename_file(from, to);
  return true;
}

}  // namespace shale
