#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "shale/data/byte_swap.hpp"
#include "shale/io/aligned_buffer.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Bytes of a column whose rows are thought of as lying end to end: row r at r * row_bytes.
struct ColumnRange {
  std::uint64_t begin = 0, bytes = 0;
};

/// The rows of a column as they lie in files: `row_bytes` each, in C order, one after the other
/// within a file. Thread-safe.
class LocatedRows {
 public:
  /// Rows of one file.
  struct Segment {
    std::string path;                       ///< opened when it is needed
    std::shared_ptr<const InputFile> file;  ///< of a file without a name; else null
    std::uint64_t offset = 0, rows = 0;
    std::vector<ByteSwap> swaps = {};  ///< what of an element lies big-endian
  };
  /// `item_bytes` are those of one element, for swaps.
  LocatedRows(std::uint64_t row_bytes, std::uint64_t item_bytes, std::vector<Segment> segments);

  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] std::uint64_t item_bytes() const { return item_bytes_; }
  [[nodiscard]] std::uint64_t rows() const { return first_row_.back(); }
  [[nodiscard]] std::uint64_t bytes() const { return rows() * row_bytes_; }
  /// The row after the last one that lies in the same file as `row`, row < rows().
  [[nodiscard]] std::uint64_t end_of_file(std::uint64_t row) const {
    return first_row_[segment_of(row) + 1];
  }

 private:
  friend class RowLoader;
  // An open file, and whether reads of it go past the page cache.
  struct OpenFile {
    std::size_t segment;
    std::shared_ptr<const InputFile> file;
    bool is_direct;
  };
  [[nodiscard]] std::size_t segment_of(std::uint64_t row) const;
  [[nodiscard]] OpenFile open(std::size_t segment) const;

  std::uint64_t row_bytes_, item_bytes_;
  std::vector<Segment> segments_;
  std::vector<std::uint64_t> first_row_;  // of each segment; one more: all rows
  mutable std::mutex mutex_;
  mutable std::vector<OpenFile> open_;  // the oldest first
};

/// Reads rows past the page cache, many reads in flight, into memory that it keeps. Not
/// thread-safe: one per thread.
class RowLoader {
 public:
  /// No more than `memory_bytes` are read at once, at least 64 KiB. `rows` must outlive it.
  RowLoader(const LocatedRows& rows, std::uint64_t memory_bytes);

  /// Reads the first of `ranges`, as many as fit into the memory, and says how many: at least one,
  /// unless there are none. They ascend by `begin`, may be equal or overlap, and are whole rows
  /// of one file, or parts of one row: whole elements where there are swaps. What lies close
  /// together is read as one. Errors: Code::bug for a range that is larger than the memory;
  /// Code::damaged for a file that ends too early; Code::io; both with file and offset.
  [[nodiscard]] std::size_t load(std::span<const ColumnRange> ranges);
  /// The bytes of ranges[i] of the last load, little-endian.
  [[nodiscard]] Bytes loaded(std::size_t i) const { return loaded_[i]; }

 private:
  // A stretch of one file that is read at once, and where it is in the memory.
  struct Stretch;
  void read(std::span<const Stretch> stretches);
  void turn_around(std::span<const Stretch> stretches, std::span<const ColumnRange> ranges);

  const LocatedRows& rows_;
  std::uint64_t memory_bytes_;
  BatchReader reader_;
  AlignedBuffer buffer_;
  std::vector<std::span<std::byte>> loaded_;
};

}  // namespace shale
