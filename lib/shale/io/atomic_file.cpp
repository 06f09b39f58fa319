#include "shale/io/atomic_file.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/write_fully.hpp"

namespace shale {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A new file under a name nobody else has, closed and removed unless it was renamed away.
class TemporaryFile {
 public:
  /// `final_path` is where it will go: named in errors, since that is the name the user knows.
  explicit TemporaryFile(const std::string& final_path) : final_path_(final_path) {
    do {
      std::uint64_t number = 0;
      if (::getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) continue;
      path_ = fmt::format("{}/.shale-tmp-{:016x}", directory_of(final_path), number);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && (errno == EEXIST || errno == EINTR));
    if (descriptor_ < 0) {
      const int error = errno;
      throw Error(Code::io, "no file can be made in its folder")
          .at(final_path_)
          .because_errno(error);
    }
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(Bytes bytes) const { write_fully(descriptor_, bytes, 0, final_path_); }

  void rename_into_place() {
    if (::fsync(descriptor_) != 0 || ::close(std::exchange(descriptor_, -1)) != 0) {
      const int error = errno;
      throw Error(Code::io, "cannot be made durable").at(final_path_).because_errno(error);
    }
    rename_file(path_, final_path_);
    path_.clear();
  }

 private:
  const std::string& final_path_;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

void sync_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    throw Error(Code::io, "folder cannot be opened to be made durable")
        .at(directory)
        .because_errno(error);
  }
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // EINVAL: this file system (some FUSE and SMB ones) has no fsync for folders, and nothing better
  // to offer.
  if (error != 0 && error != EINVAL) {
    throw Error(Code::io, "folder cannot be made durable").at(directory).because_errno(error);
  }
}

void rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  const int error = errno;
  throw Error(Code::io, "cannot be renamed to '{}'", printable(to)).at(from).because_errno(error);
}

void write_file_atomically(const std::string& path, Bytes bytes) {
  TemporaryFile file(path);
  file.write(bytes);
  file.rename_into_place();
  sync_directory(directory_of(path));
}

}  // namespace shale
