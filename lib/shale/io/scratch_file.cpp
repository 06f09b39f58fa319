#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/io/write_fully.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kBufferBytes = 256 * 1024;

int open_nameless(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  // EISDIR: a kernel or a file system (NFS, FUSE) that does not know O_TMPFILE sees a folder opened
  // for writing.
  if (descriptor >= 0 || (errno != EISDIR && errno != EOPNOTSUPP && errno != EINVAL))
    return descriptor;
  std::string name = directory + "/.shale-scratch-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

struct ScratchFile::Impl {
  explicit Impl(const std::string& directory)
      : path(directory + "/(scratch)"), descriptor(open_nameless(directory)) {
    if (descriptor >= 0) return;
    const int error = errno;
    throw Error(Code::io, "no scratch file can be made in this folder")
        .at(directory)
        .because_errno(error);
  }
  ~Impl() { ::close(descriptor); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void flush() {
    write_fully(descriptor, buffer, written, path);
    written += buffer.size();
    buffer.clear();
  }

  const std::string path;  // for messages: it has no name
  const int descriptor;
  std::mutex mutex;
  std::uint64_t written = 0;
  std::vector<std::byte> buffer;  // what follows the written bytes
};

ScratchFile::ScratchFile(const std::string& directory) : impl_(std::make_unique<Impl>(directory)) {}
ScratchFile::~ScratchFile() = default;
ScratchFile::ScratchFile(ScratchFile&&) noexcept = default;
ScratchFile& ScratchFile::operator=(ScratchFile&&) noexcept = default;

std::uint64_t ScratchFile::size() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->written + impl_->buffer.size();
}

void ScratchFile::append(Bytes bytes) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->buffer.size() + bytes.size() > kBufferBytes) impl_->flush();
  if (bytes.size() >= kBufferBytes) {
    write_fully(impl_->descriptor, bytes, impl_->written, impl_->path);
    impl_->written += bytes.size();
    return;
  }
  impl_->buffer.reserve(kBufferBytes);
  impl_->buffer.insert(impl_->buffer.end(), bytes.begin(), bytes.end());
}

void ScratchFile::read_exact(std::uint64_t offset, std::span<std::byte> into) {
  std::uint64_t on_disk = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    const std::uint64_t size = impl_->written + impl_->buffer.size();
    if (offset > size || into.size() > size - offset) {
      throw Error(Code::bug, "{} scratch bytes wanted, {} written", into.size(), size)
          .at(impl_->path, offset);
    }
    if (into.empty()) return;
    on_disk =
        offset < impl_->written ? std::min<std::uint64_t>(into.size(), impl_->written - offset) : 0;
    if (on_disk < into.size()) {
      std::memcpy(into.data() + on_disk, impl_->buffer.data() + (offset + on_disk - impl_->written),
                  into.size() - on_disk);
    }
  }
  std::uint64_t done = 0;
  while (done < on_disk) {
    const ssize_t got = ::pread(impl_->descriptor, into.data() + done, on_disk - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const int error = got < 0 ? errno : EIO;
      throw Error(Code::io, "{} scratch bytes cannot be read back", on_disk - done)
          .at(impl_->path, offset + done)
          .because_errno(error);
    }
    done += static_cast<std::uint64_t>(got);
  }
}

void ScratchFile::clear() {
  const std::lock_guard lock(impl_->mutex);
  if (::ftruncate(impl_->descriptor, 0) != 0) {
    const int error = errno;
    throw Error(Code::io, "scratch file cannot be emptied").at(impl_->path).because_errno(error);
  }
  impl_->written = 0;
  std::vector<std::byte>().swap(impl_->buffer);
}

}  // namespace shale
