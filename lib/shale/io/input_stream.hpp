#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// The name of stdin on a command line. stdin is opened once in a run: what was peeked is in this
/// object, and goes with it.
inline constexpr std::string_view kStdin = "-";

/// A file that is read once, from its beginning to its end: stdin, a pipe, a regular file. One
/// thread.
class InputStream {
 public:
  /// "-" is stdin, which stays open. `stop_if_asked` is called ten times a second while there is
  /// nothing to read, and may throw. Errors: Code::not_found, Code::io; Code::usage for a terminal.
  explicit InputStream(
      const std::string& path, std::function<void()> stop_if_asked = [] {});
  ~InputStream();
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  /// For messages: the path, or "stdin".
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The first `bytes` of what has not been read yet, fewer at the end only: read() gives them
  /// again. Valid until the next call. What it is: wire/stream_kind. Errors: same as read.
  [[nodiscard]] Bytes peek(std::uint64_t bytes);
  /// Some bytes, at least one; none at the end. Errors: Code::io.
  [[nodiscard]] std::uint64_t read(std::span<std::byte> into);
  /// Bytes that read() has given.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  // `held`: what of the stream has been peeked, not read.
  [[nodiscard]] std::uint64_t read_more(std::span<std::byte> into, std::uint64_t held);

  std::string name_;
  std::function<void()> stop_if_asked_;
  int descriptor_ = -1;
  bool is_own_ = true;
  std::vector<std::byte> peeked_;
  std::uint64_t position_ = 0;
};

}  // namespace shale
