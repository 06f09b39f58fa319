#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"

// clang-format off
// shard-000000.elements.npy: a NumPy structured array, one row per element of a list, packed, little-endian:
//   offset u64, length u64, crc32c u32
// The elements of a list stand one after the other, in the order of the samples, then of the schema's fields; the index says where
// those of a list begin (F.first) and how many there are (F.count). Without the crc32c where the payload was never read.
// clang-format on

namespace shale {

/// How a row of an element list lies in bytes.
class ElementColumns {
 public:
  explicit ElementColumns(bool has_crc32c);
  [[nodiscard]] std::uint64_t row_bytes() const { return has_crc32c_ ? 20 : 16; }
  [[nodiscard]] std::vector<std::byte> header(std::uint64_t rows) const;
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t rows) const {
    return header_bytes_ + rows * row_bytes();
  }
  void encode(const FieldPlace& element, ByteWriter& into) const;
  [[nodiscard]] FieldPlace decode(ByteReader& from) const;

 private:
  bool has_crc32c_;
  std::uint64_t header_bytes_ = 0;
};

/// Writes an element list row by row; memory does not grow with the rows.
class ElementWriter {
 public:
  ElementWriter(OutputFile file, ElementColumns columns);
  void append(std::span<const FieldPlace> elements);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Adds a base to the offsets of the next `count` rows, from row 0 on: call by call through all
  /// of them.
  void rebase_next(std::uint64_t count, std::uint64_t base);
  /// Patches the number of rows into the header and finishes the file.
  [[nodiscard]] FileSummary finish();

 private:
  void load_rebased();
  void store_rebased();

  OutputFile file_;
  ElementColumns columns_;
  ByteWriter row_;
  std::uint64_t rows_ = 0;
  std::uint64_t rebased_ = 0, first_loaded_ = 0;
  std::vector<FieldPlace> loaded_;  // rows that are being rebased
};

/// Reads rows of an element list. Thread-safe.
class ElementReader {
 public:
  /// The file outlives it. Errors: Code::damaged if header or size are not those of a list.
  ElementReader(const InputFile& file, ElementColumns columns);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// The rows [first, first + count). Memory: theirs. Errors: Code::damaged if they are not in the
  /// file, which is what an index that does not belong to it says; Code::io.
  [[nodiscard]] std::vector<FieldPlace> read(std::uint64_t first, std::uint64_t count) const;

 private:
  const InputFile* file_;
  ElementColumns columns_;
  std::uint64_t rows_ = 0;
};

}  // namespace shale
