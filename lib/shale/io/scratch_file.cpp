#include "shale/io/scratch_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/nameless_file.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/storage_retry.hpp"
#include "shale/io/write_fully.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kBufferBytes = 256 * 1024;

}  // namespace

struct ScratchFile::Impl {
  explicit Impl(const std::string& directory) : file(directory) {}

  void flush() {
    write_fully(file.descriptor(), buffer, written, file.path());
    written += buffer.size();
    buffer.clear();
  }

  const NamelessFile file;
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
    write_fully(impl_->file.descriptor(), bytes, impl_->written, impl_->file.path());
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
          .at(impl_->file.path(), offset);
    }
    if (into.empty()) return;
    on_disk =
        offset < impl_->written ? std::min<std::uint64_t>(into.size(), impl_->written - offset) : 0;
    if (on_disk < into.size()) {
      std::memcpy(into.data() + on_disk, impl_->buffer.data() + (offset + on_disk - impl_->written),
                  into.size() - on_disk);
    }
  }
  const std::string& path = impl_->file.path();
  const auto [done, error] = try_read(impl_->file.descriptor(), into.first(on_disk), offset, path);
  if (done < on_disk)
    throw read_failed(path, offset + done, on_disk - done, error != 0 ? error : EIO);
}

void ScratchFile::clear() {
  const std::lock_guard lock(impl_->mutex);
  if (retried(impl_->file.path(), [&] { return ::ftruncate(impl_->file.descriptor(), 0); }) != 0) {
    const int error = errno;
    throw Error(Code::io, "scratch file cannot be emptied")
        .at(impl_->file.path())
        .because_errno(error);
  }
  impl_->written = 0;
  std::vector<std::byte>().swap(impl_->buffer);
}

}  // namespace shale
