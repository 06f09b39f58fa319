#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "shale/io/aligned_buffer.hpp"
#include "shale/io/background_writer.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/nameless_file.hpp"

namespace shale {

/// A nameless scratch file of extents of one size, written past the page cache (where the file
/// system lets us) from buffers of its own, many writes in flight, in any order. Extents that are
/// given back are used again, so the file holds no more than is alive at once.
/// Buffers are one thread's at a time; extents may be read and given back by any thread at the same
/// time.
class ExtentStore {
 public:
  /// `extent_bytes`, also of each of the `buffers`, is a multiple of kDirectAlignment. Room on the
  /// disk is taken a little ahead, but not beyond `expected_bytes`.
  /// Errors: Code::io; Code::bug for another size.
  ExtentStore(const std::string& folder, std::uint64_t extent_bytes, std::uint32_t buffers,
              std::uint64_t expected_bytes);
  ExtentStore(const ExtentStore&) = delete;
  ExtentStore& operator=(const ExtentStore&) = delete;

  [[nodiscard]] std::uint64_t extent_bytes() const { return extent_bytes_; }
  /// Of the file, at most so far.
  [[nodiscard]] std::uint64_t bytes() const;

  /// A buffer to be filled; waits for a write if none is free. Errors: same as write; Code::bug if
  /// all are taken.
  [[nodiscard]] std::uint32_t take_buffer();
  [[nodiscard]] std::span<std::byte> buffer(std::uint32_t buffer) {
    return buffers_.subspan(buffer * extent_bytes_, extent_bytes_);
  }
  /// Starts to write [begin, end) of a buffer to the same place of an extent, and returns its
  /// number. Both are multiples of kDirectAlignment. The buffer is free again, by itself, when it
  /// is written.
  /// Errors: Code::io, of any write before; a full disk says how many bytes were wanted and are
  /// free. Nothing can be written after one.
  [[nodiscard]] std::uint32_t write(std::uint32_t buffer, std::uint64_t begin, std::uint64_t end);
  /// Waits for all writes: extents may be read from now on. Errors: same as write.
  void settle();
  /// Gives the memory of the buffers back. After settle(); nothing is written any more.
  void drop_buffers();

  /// A part of an extent, and where it is read to; offset, length and memory are multiples of
  /// kDirectAlignment.
  struct Part {
    std::uint32_t extent = 0;
    std::uint64_t begin = 0;
    std::span<std::byte> into;
  };
  /// Reads what was written and settled, with the caller's reader. Errors: Code::io.
  void read(BatchReader& reader, std::span<const Part> parts) const;
  void give_back(std::uint32_t extent);

 private:
  struct Write {
    std::uint64_t offset = 0;
    Bytes bytes;
  };
  [[nodiscard]] std::uint32_t free_extent();
  void wait_for_one();
  void write_now(Bytes bytes, std::uint64_t offset);

  const std::uint64_t extent_bytes_, expected_bytes_;
  const NamelessFile file_;
  bool is_direct_;
  AlignedBuffer memory_;
  std::span<std::byte> buffers_;
  std::vector<Write> writes_;  // of each buffer
  std::vector<std::uint32_t> free_buffers_;
  std::uint32_t under_way_ = 0;

  mutable std::mutex mutex_;  // of what follows
  std::vector<std::uint32_t> free_extents_;
  std::uint32_t extents_ = 0, reserved_ = 0;

  BackgroundWriter background_;  // last: it waits for its writes before what they need goes
};

}  // namespace shale
