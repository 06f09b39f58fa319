#include "shale/io/file_syncs.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/io/write_fully.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostFiles = 64;

// Never a second time after an error: see retried().
void sync_open_file(int descriptor, const std::string& path, std::uint64_t bytes) {
  if (uninterrupted([&] { return ::fdatasync(descriptor); }) != 0)
    throw write_error(descriptor, path, 0, bytes, errno);
}

}  // namespace

FileSyncs::~FileSyncs() {
  for (const OpenFile& file : files_) {
    if (file.descriptor >= 0) ::close(file.descriptor);
  }
}

void FileSyncs::add(int descriptor, std::string path, std::uint64_t bytes) {
  files_.push_back({descriptor, std::move(path), bytes});
  bytes_ += bytes;
}

// A quarter: the rest is for what reads and writes.
std::size_t FileSyncs::most_files() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur / 4, kMostFiles));
}

void FileSyncs::sync() {
  // All are on their way before one is waited for. What cannot be written is said below.
  for (const OpenFile& file : files_) {
    if (files_.size() > 1) (void)::sync_file_range(file.descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
  }
  for (OpenFile& file : files_) {
    sync_open_file(file.descriptor, file.path, file.bytes);
    if (::close(std::exchange(file.descriptor, -1)) != 0 && errno != EINTR) {
      const int error = errno;
      throw because_of_room(Error(Code::io, "cannot write the last bytes on close"), file.path,
                            error);
    }
  }
  files_.clear();
  bytes_ = 0;
}

void sync_file(const std::string& path) {
  const int descriptor =
      retried(path, [&] { return ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC); });
  if (descriptor < 0)
    throw Error(Code::io, "cannot be opened to flush it to disk").at(path).because_errno(errno);
  FileSyncs file;
  file.add(descriptor, path, 0);
  file.sync();
}

}  // namespace shale
