#include "shale/io/input_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/read_errors.hpp"
#include "shale/io/safe_descriptor.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

constexpr int kBetweenLooksMs = 100;

}  // namespace

InputStream::InputStream(const std::string& path, std::function<void()> stop_if_asked)
    : name_(path == kStdin ? "stdin" : path), stop_if_asked_(std::move(stop_if_asked)) {
  if (path == kStdin) {
    descriptor_ = STDIN_FILENO;
    is_own_ = false;
    if (::isatty(descriptor_) == 1) {
      throw Error(Code::usage, "stdin is a terminal")
          .hint("send the input there: 'curl URL | shale convert - OUT ...'");
    }
    return;
  }
  descriptor_ = above_standard_descriptors(
      retried(path, [&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (descriptor_ >= 0) return;
  const int error = errno;
  throw Error(error == ENOENT ? Code::not_found : Code::io, "file cannot be opened")
      .at(path)
      .because_errno(error);
}

InputStream::~InputStream() {
  if (is_own_) ::close(descriptor_);
}

Bytes InputStream::peek(std::uint64_t bytes) {
  std::uint64_t held = peeked_.size();
  if (held < bytes) peeked_.resize(bytes);
  while (held < bytes) {
    const std::uint64_t got = read_more(std::span(peeked_).subspan(held), held);
    if (got == 0) break;
    held += got;
  }
  peeked_.resize(held);
  return Bytes(peeked_).first(std::min(held, bytes));
}

std::uint64_t InputStream::read(std::span<std::byte> into) {
  std::uint64_t bytes = std::min<std::uint64_t>(peeked_.size(), into.size());
  if (bytes > 0) {
    std::copy_n(peeked_.begin(), bytes, into.begin());
    peeked_.erase(peeked_.begin(), peeked_.begin() + static_cast<std::ptrdiff_t>(bytes));
  } else {
    bytes = read_more(into, 0);
  }
  position_ += bytes;
  return bytes;
}

std::uint64_t InputStream::read_more(std::span<std::byte> into, std::uint64_t held) {
  StorageRetry retry(name_);
  for (;;) {
    // Whoever is asked to stop does not wait for a program that has nothing to say.
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, kBetweenLooksMs);
    stop_if_asked_();
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = ::read(descriptor_, into.data(), into.size());
    if (got >= 0) return static_cast<std::uint64_t>(got);
    const int error = errno;
    if (error == EAGAIN || retry.again(error)) continue;
    throw read_failed(name_, position_ + held, into.size(), error);
  }
}

}  // namespace shale
