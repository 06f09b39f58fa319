#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/shards/element_list.hpp"
#include "shale/shards/fixed_rows.hpp"
#include "shale/wire/npy_header.hpp"

// clang-format off
// shard-000000.index.npy: a NumPy structured array, one row per sample, packed, little-endian.
// docs/index.md gives the bytes:
//   key.offset u64, key.length u64, key.crc32c u32, key_hash u64    containers that hold keys
//   F.offset u64, F.length u64, F.crc32c u32                        each located field F
//   F.count u32, F.first u64                                        behind those of a list: how many elements, and the
//                                                                   row of the first one in the list of elements
//   F i64 | f64                                                     each scalar field F
//   record.offset u64, record.length u64                            containers that keep a sample in one piece
// The fields come in schema order. Without F.first in sets of shale 0.2.0, which have no list of elements; without the crc32c columns where the payload was never read.
// clang-format on

namespace shale {

/// The columns of an index, and how a row lies in bytes.
class IndexColumns {
 public:
  IndexColumns(const Schema& schema, const ShardLayout& layout);

  /// NumPy's names of the columns and of their types, in the order of the row.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& names_and_types() const {
    return columns_;
  }
  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }
  /// The .npy header of an index of `rows` rows.
  [[nodiscard]] std::vector<std::byte> header(std::uint64_t rows) const;
  [[nodiscard]] std::uint64_t header_bytes() const { return header_bytes_; }
  /// Bytes of the whole file; none where rows are fixed.
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t rows) const {
    return header_bytes_ + rows * row_bytes_;
  }

  /// Where the place of the key (nullopt), or a field's place or number, begins in the bytes of a
  /// row.
  [[nodiscard]] std::uint64_t position_of(std::optional<std::size_t> field) const {
    return field ? positions_[*field] : 0;
  }

  /// Where the place of the whole record begins in the bytes of a row, where there is one.
  [[nodiscard]] std::uint64_t record_position() const { return row_bytes_ - 16; }
  [[nodiscard]] bool has_whole_records() const { return has_whole_records_; }

  /// The byte layout of the element list next to such an index; nullopt: there is
  /// none.
  [[nodiscard]] std::optional<ElementColumns> elements() const {
    return has_elements_ ? std::optional(ElementColumns(has_crc32c_)) : std::nullopt;
  }

  void encode(const IndexRow& row, ByteWriter& into) const;
  /// `bytes` holds exactly row_bytes().
  [[nodiscard]] IndexRow decode(Bytes bytes) const;
  /// Only one place of a row, by position_of().
  [[nodiscard]] FieldPlace decode_place_at(Bytes row, std::uint64_t position) const;

 private:
  std::vector<Kind> kinds_;
  bool has_keys_, has_whole_records_, has_crc32c_, has_elements_;
  std::vector<std::pair<std::string, std::string>> columns_;
  std::vector<std::uint64_t> positions_;  // of fields
  std::uint64_t row_bytes_ = 0, header_bytes_ = 0;
};

/// What an index that was written came to be.
struct WrittenIndex {
  FileSummary index;
  std::optional<FileSummary> elements;  ///< of the list of elements, if there is one
};

/// Writes an index row by row, and the list of elements beside it; memory does not grow with the
/// rows.
class IndexWriter {
 public:
  /// `elements` where columns.elements() says so.
  IndexWriter(OutputFile file, IndexColumns columns,
              std::optional<OutputFile> elements = std::nullopt);
  void append(IndexRow row);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Adds a base to the places of every row written so far: `key_base`, a base for each field, and
  /// one for the record.
  void rebase(std::uint64_t key_base, std::span<const std::uint64_t> field_bases,
              std::uint64_t record_base);
  /// Patches the number of rows into the header and finishes the file.
  [[nodiscard]] WrittenIndex finish();

 private:
  void append_elements(IndexRow& row);
  void rebase_elements(const IndexRow& row, std::span<const std::uint64_t> field_bases);

  OutputFile file_;
  IndexColumns columns_;
  std::optional<ElementWriter> elements_;
  ByteWriter row_;
  std::uint64_t rows_ = 0;
};

/// Reads rows of an index through a window of a few hundred rows, or makes them where rows are
/// fixed. Not thread-safe: one per thread (cheap).
class IndexReader {
 public:
  /// Errors: Code::damaged if header, dtype or size are not those of `columns` with `rows` rows.
  IndexReader(const InputFile& file, const IndexColumns& columns, std::uint64_t rows);
  IndexReader(FixedRowReader fixed, std::uint64_t rows);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Errors: Code::damaged, Code::io; Code::bug if row >= rows().
  [[nodiscard]] IndexRow row(std::uint64_t row);
  /// Only one place of a row, by IndexColumns::position_of: much cheaper than row(). Not where
  /// rows are fixed.
  [[nodiscard]] FieldPlace place(std::uint64_t row, std::uint64_t position);

 private:
  struct IndexFile {
    const InputFile* file;
    IndexColumns columns;
    WindowReader window;
  };
  void require_row(std::uint64_t row) const;
  [[nodiscard]] Bytes row_bytes(std::uint64_t row);

  std::uint64_t rows_;
  std::variant<IndexFile, FixedRowReader> from_;
};

/// The bytes of a block list: (n, 16) uint8, the lists of a shard's files one after the other.
/// docs/index.md.
[[nodiscard]] std::vector<std::byte> block_list_bytes(std::span<const Hash128> blocks);
/// Errors: Code::damaged if it is not a block list of exactly `blocks` entries.
[[nodiscard]] std::vector<Hash128> read_block_list(const InputFile& file, std::uint64_t blocks);
[[nodiscard]] constexpr std::uint64_t block_count(std::uint64_t file_bytes) {
  return (file_bytes + kBlockBytes - 1) / kBlockBytes;
}

}  // namespace shale
