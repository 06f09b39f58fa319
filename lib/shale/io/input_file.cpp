#include "shale/io/input_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/file_part.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

// A view that does not follow the one before reads at least this much: a page, for headers that
// look at a few bytes more.
constexpr std::uint64_t kSmallestRead = 4096;

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: a FIFO would hang the open; on regular files it changes nothing.
  const auto open_path = [&] {
    return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  };
  const std::optional<int> part = open_part(path_);
  descriptor_ = above_standard_descriptors(part ? *part : retried(path_, open_path));
  if (descriptor_ < 0) {
    const int error = errno;
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    throw Error(is_missing ? Code::not_found : Code::io, "cannot be opened")
        .at(path_)
        .because_errno(error);
  }
  struct stat facts {};
  const int error = retried(path_, [&] { return ::fstat(descriptor_, &facts); }) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(facts.st_mode)) {
    size_ = static_cast<std::uint64_t>(facts.st_size);
    return;
  }
  ::close(std::exchange(descriptor_, -1));
  if (error != 0) throw size_unknown(path_, error);
  const bool is_folder = S_ISDIR(facts.st_mode);
  throw Error(Code::unsupported, "is {}, not a regular file", is_folder ? "a folder" : "special")
      .at(path_)
      .hint(is_folder ? "name a file, or move the folder away"
                      : "write what it gives into a file, and name that");
}

InputFile::~InputFile() { close(); }

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

void InputFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

std::uint64_t InputFile::size_now() const {
  struct stat facts {};
  if (retried(path_, [&] { return ::fstat(descriptor_, &facts); }) != 0)
    throw size_unknown(path_, errno);
  return static_cast<std::uint64_t>(facts.st_size);
}

void InputFile::read_exact(std::uint64_t offset, std::span<std::byte> into) const {
  const std::uint64_t got = read_some(offset, into);
  if (got < into.size()) throw read_ends_early(path_, offset, into.size(), got);
}

std::uint64_t InputFile::read_some(std::uint64_t offset, std::span<std::byte> into) const {
  if (descriptor_ < 0) return InputFile(path_).read_some(offset, into);
  // An offset out of a hostile header may not fit the kernel's signed type; no file reaches that
  // far.
  constexpr auto kLastOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (offset > kLastOffset) return 0;
  const std::uint64_t wanted = std::min<std::uint64_t>(into.size(), kLastOffset - offset);
  const auto [bytes, error] = try_read(descriptor_, into.first(wanted), offset, path_);
  if (error != 0) throw read_failed(path_, offset + bytes, wanted - bytes, error);
  return bytes;
}

void InputFile::prefetch(std::uint64_t offset, std::uint64_t length) const {
  // A length of 0 would mean all of the file.
  if (offset >= size_ || length == 0) return;
  (void)::posix_fadvise(descriptor_, static_cast<off_t>(offset),
                        static_cast<off_t>(std::min(length, size_ - offset)), POSIX_FADV_WILLNEED);
}

void InputFile::expect_random_reads() const {
  (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM);
}

void InputFile::drop_cache(std::uint64_t offset, std::uint64_t length) const {
  // Pages that the range only touches stay unless they are asked for whole.
  const std::uint64_t begin = offset / kDirectAlignment * kDirectAlignment;
  const std::uint64_t end =
      (offset + length + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
  (void)::posix_fadvise(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                        POSIX_FADV_DONTNEED);
}

bool InputFile::go_direct() const {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  return flags >= 0 && ::fcntl(descriptor_, F_SETFL, flags | O_DIRECT) == 0;
}

SparseReading::SparseReading(const InputFile& file) : file_(&file) { file.expect_random_reads(); }

SparseReading::~SparseReading() {
  (void)::posix_fadvise(file_->descriptor(), 0, 0, POSIX_FADV_NORMAL);
}

std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit) {
  const InputFile file(path);
  std::vector<std::byte> bytes;
  std::uint64_t filled = 0;
  // One byte more than expected: a file that has grown since (or one of /proc, whose size is 0)
  // shows.
  for (std::uint64_t wanted = file.size() + 1;; wanted = 2 * filled) {
    if (file.size() > limit || filled > limit) {
      throw Error(Code::limit, "{} bytes, more than the limit of {}", std::max(file.size(), filled),
                  limit)
          .at(path);
    }
    bytes.resize(wanted);
    filled += file.read_some(filled, std::span(bytes).subspan(filled));
    if (filled < wanted) break;
  }
  if (filled < file.size()) {
    throw Error(Code::damaged, "shrank to {} bytes from {} while being read", filled, file.size())
        .at(path);
  }
  bytes.resize(filled);
  return bytes;
}

WindowReader::WindowReader(const InputFile& file, std::uint64_t window_bytes)
    : file_(&file), window_bytes_(std::max(window_bytes, kSmallestRead)) {}

Bytes WindowReader::view(std::uint64_t offset, std::uint64_t length) {
  // Checked against the file before memory is taken: the length may come out of a hostile header.
  const std::uint64_t left = offset < file_->size() ? file_->size() - offset : 0;
  if (length > left) throw read_ends_early(file_->path(), offset, length, left);
  if (length == 0) return {};

  const std::uint64_t end = begin_ + filled_;
  if (offset < begin_ || offset + length > end) {
    const bool follows = filled_ > 0 && offset >= begin_ && offset <= end;
    const std::uint64_t wanted =
        std::min(left, std::max(length, follows ? window_bytes_ : kSmallestRead));
    const std::uint64_t kept = follows ? end - offset : 0;
    if (kept > 0) std::memmove(buffer_.data(), buffer_.data() + (filled_ - kept), kept);
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    begin_ = offset;
    filled_ = kept;  // should the read throw, the window holds what it says
    const std::span<std::byte> rest(buffer_.data() + kept, wanted - kept);
    const std::uint64_t got = file_->read_some(offset + kept, rest);
    filled_ = kept + got;
    if (filled_ < length) throw read_ends_early(file_->path(), offset, length, filled_);
  }
  return Bytes(buffer_).subspan(offset - begin_, length);
}

}  // namespace shale
