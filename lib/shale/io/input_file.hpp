#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "shale/base/view_bytes.hpp"

namespace shale {

/// What reads past the page cache are aligned to.
inline constexpr std::uint64_t kDirectAlignment = 4096;
[[nodiscard]] constexpr std::uint64_t aligned_down(std::uint64_t offset) {
  return offset / kDirectAlignment * kDirectAlignment;
}
[[nodiscard]] constexpr std::uint64_t aligned_up(std::uint64_t offset) {
  return aligned_down(offset + kDirectAlignment - 1);
}

/// A file open for positioned reads: no cursor, no mapping, no lock. Opened O_RDONLY | O_CLOEXEC.
/// Thread-safe: any number of threads may read at once. Closed by its destructor.
class InputFile {
 public:
  /// Errors: Code::not_found if there is no such file, Code::io for any other reason,
  /// Code::unsupported if it is not a regular file.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The last part of the path.
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('/') + 1); }
  /// -1 after close().
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Gives the descriptor back, for whoever has more files than may be open: from now on each read
  /// opens the file for itself, and advice to the kernel has no effect.
  void close();
  /// Bytes when it was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Bytes at this moment, for files that others write to. Errors: Code::io.
  [[nodiscard]] std::uint64_t size_now() const;

  /// Fills `into` from `offset`. Errors: Code::damaged with both numbers if the file ends before,
  /// Code::io.
  void read_exact(std::uint64_t offset, std::span<std::byte> into) const;
  /// Reads up to into.size() bytes; fewer only at the end of the file. Errors: Code::io.
  [[nodiscard]] std::uint64_t read_some(std::uint64_t offset, std::span<std::byte> into) const;
  /// Has the kernel read a range in the background, so that several such reads are in flight at
  /// once. Advice: nothing fails, and what read_exact gives is the same without it.
  void prefetch(std::uint64_t offset, std::uint64_t length) const;
  /// Has the kernel read what it is asked for and no more, for random access. Advice.
  void expect_random_reads() const;
  /// Gives the page cache of a range back, where no one else is using it. Advice.
  void drop_cache(std::uint64_t offset, std::uint64_t length) const;
  /// From now on reads go past the page cache: offset, length and memory of each must be multiples
  /// of kDirectAlignment. False, and nothing has changed, where the file system refuses.
  [[nodiscard]] bool go_direct() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// While it lives, the kernel reads from the file what it is asked for and no more: for readers of
/// a few pages out of gigabytes. Advice: nothing fails. The file must outlive it; one at a time.
class SparseReading {
 public:
  explicit SparseReading(const InputFile& file);
  ~SparseReading();
  SparseReading(const SparseReading&) = delete;
  SparseReading& operator=(const SparseReading&) = delete;

 private:
  const InputFile* file_;
};

/// The whole file, which must not be larger than `limit`.
/// Errors: same as InputFile; Code::limit with both numbers.
[[nodiscard]] std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit);

/// A moving window over a file, for parsers that go forward through small pieces: `view` returns
/// bytes without a system call when they are in the window already. Sequential small views cost one
/// read per window; a view far ahead reads little more than itself. Not thread-safe; a view is
/// valid until the next call.
class WindowReader {
 public:
  explicit WindowReader(const InputFile& file, std::uint64_t window_bytes = 256 * 1024);

  /// The bytes [offset, offset + length). Errors: Code::damaged if the file ends before; Code::io.
  [[nodiscard]] Bytes view(std::uint64_t offset, std::uint64_t length);
  /// The same as a function, for as long as this window stays where it is.
  [[nodiscard]] ViewBytes views() {
    return [this](std::uint64_t offset, std::uint64_t length) { return view(offset, length); };
  }

 private:
  const InputFile* file_;
  std::uint64_t window_bytes_;
  std::uint64_t begin_ = 0;   // file offset of buffer_[0]
  std::uint64_t filled_ = 0;  // valid bytes in buffer_
  std::vector<std::byte> buffer_;
};

}  // namespace shale
