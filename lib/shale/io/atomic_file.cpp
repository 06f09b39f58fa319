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
#include "shale/io/free_space.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

Error rename_error(const std::string& from, const std::string& to, int error_number) {
  return because_of_room(Error(Code::io, "cannot be renamed to '{}'", printable(to)), from,
                         error_number);
}

Error not_durable(const std::string& directory, int error_number) {
  return because_of_room(Error(Code::io, "cannot flush the folder to disk"), directory,
                         error_number);
}

// ESTALE: the server knows no such folder any more, so it has done nothing; the path is looked up
// again. An attempt that was interrupted, or whose answer was lost, may have been carried out all
// the same: then the file is no longer there, but where it was to go. EIO stands: nobody knows.
template <class Call>
bool renamed(const std::string& from, const std::string& to, const Call& call) {
  StorageRetry retry(from);
  for (bool is_first = true;; is_first = false) {
    if (call() == 0) return true;
    const int error = errno;
    if (!is_first && error == ENOENT && !stands(from) && stands(to)) return true;
    errno = error;
    if ((error != EINTR && error != ESTALE) || !retry.again(error)) return false;
  }
}

}  // namespace

void sync_directory(const std::string& directory) {
  const int descriptor = retried(
      directory, [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) {
    const int error = errno;
    if (error == EACCES) return;  // may be written to, but not read: there is no way to sync it
    throw not_durable(directory, error);
  }
  // Never a second time after an error: see retried().
  const int error = uninterrupted([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
  ::close(descriptor);
  // EINVAL: this file system (some FUSE and SMB ones) has no fsync for folders, and nothing better
  // to offer.
  if (error != 0 && error != EINVAL) {
    throw not_durable(directory, error);
  }
}

Error cannot_make_directory(const std::string& path, int error_number) {
  return because_of_room(Error(Code::io, "cannot make the folder"), path, error_number);
}

bool make_directory(const std::string& path) {
  if (retried(path, [&] { return ::mkdir(path.c_str(), 0777); }) == 0) return true;
  const int error = errno;
  struct stat there {};
  const bool is_folder =
      error == EEXIST && ::stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode);
  if (is_folder) return false;
  throw cannot_make_directory(path, error);
}

void rename_file(const std::string& from, const std::string& to) {
  if (renamed(from, to, [&] { return ::rename(from.c_str(), to.c_str()); })) return;
  throw rename_error(from, to, errno);
}

bool rename_to_free_name(const std::string& from, const std::string& to) {
  // By its number: musl has no function of that name.
  const auto rename = [&] {
    return ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  };
  if (renamed(from, to, rename)) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) throw rename_error(from, to, errno);
  // FUSE and NFS: the next best.
  if (stands(to)) return false;
  rename_file(from, to);
  return true;
}

bool link_file(const std::string& from, const std::string& to) {
  const auto link = [&] {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW);
  };
  if (uninterrupted(link) == 0) return true;
  const int error = errno;
  // EPERM: FAT and some FUSE file systems, and files of others where fs.protected_hardlinks is set.
  // No space: tmpfs counts a name as an inode.
  for (const int refusal : {EXDEV, EPERM, EMLINK, ENOTSUP, ENOSYS, ENOSPC, EDQUOT}) {
    if (error == refusal) return false;
  }
  throw because_of_room(Error(Code::io, "cannot get a second name, '{}'", printable(to)), from,
                        error);
}

bool remove_file(const std::string& path) noexcept {
  return retried(path, [&] { return ::unlink(path.c_str()); }) == 0 || errno == ENOENT;
}

}  // namespace shale
