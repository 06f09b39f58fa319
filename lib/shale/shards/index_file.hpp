#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"
#include "shale/wire/npy_header.hpp"

// clang-format off
// shard-000000.elements.npy: a NumPy structured array, one row per element of a list, packed, little-endian:
//   offset u64, length u64, crc32c u32
// The elements of a list stand one after the other, in the order of the samples, then of the schema's fields; the index says where
// those of a list begin (F.first) and how many there are (F.count). Without the crc32c where the payload was never read.
// clang-format on

// clang-format off
// shard-000000.index.npy: a NumPy structured array, one row per sample, packed, little-endian.
// docs/index.md gives the bytes:
//   key.offset u64, key.length u64, key.crc32c u32, key_hash u64    containers that hold keys
//   F.offset u64, F.length u64, F.crc32c u32                        each located field F
//   F.count u32, F.first u64                                        behind those of a list: how many elements, and the
//                                                                   row of the first one in the list of elements
//   F.shape u64 (rank,)                                             behind those of a ragged tensor: all of its sides
//   F i64 | f64                                                     each scalar field F
//   F.present b1                                                    behind those of an optional field
//   record.offset u64, record.length u64                            containers that keep a sample in one piece
// The fields come in schema order. Without F.first in sets of shale 0.2.0, which have no list of elements; without the crc32c columns where the payload was never read.
// clang-format on

namespace shale {

/// The values of one field in a shard of fixed rows: one after the other in their file.
struct FixedColumn {
  const InputFile* file;
  const Field* field;
  std::uint64_t base;    ///< where the value of row 0 begins
  std::uint64_t stride;  ///< bytes of each value

  [[nodiscard]] FieldPlace place(std::uint64_t row) const {
    return {.offset = base + row * stride, .length = stride};
  }
};

/// Rows that lie one after the other, read a column at a time.
class FixedRun {
 public:
  FixedRun(std::uint64_t begin, std::uint64_t rows) : begin_(begin), rows_(rows) {}
  /// Reads the values of the next column. Errors: same as InputFile::read_exact.
  Bytes read(const FixedColumn& column);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Of all that has been read.
  [[nodiscard]] std::vector<Bytes> columns() const { return {values_.begin(), values_.end()}; }

 private:
  std::uint64_t begin_, rows_;
  std::vector<std::vector<std::byte>> values_;
};

/// Bytes of one row of them, whatever a hostile schema claims.
[[nodiscard]] std::uint64_t row_bytes_of(std::span<const FixedColumn> columns);
/// How many rows are read at once: so many bytes of them, one at least.
[[nodiscard]] std::uint64_t rows_at_once(std::uint64_t row_bytes, std::uint64_t bytes);

/// Index rows of a shard that has none, made of where its columns lie: a place for every field, and
/// the number itself of integers and reals, which is read from the shard. Not thread-safe.
class FixedRowReader {
 public:
  explicit FixedRowReader(std::vector<FixedColumn> columns);
  /// Errors: Code::damaged; Code::io.
  [[nodiscard]] IndexRow row(std::uint64_t row);

 private:
  std::vector<FixedColumn> columns_;
  std::vector<WindowReader> numbers_;  // of each integer and real, in their order
};

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

/// The columns of an index, and how a row lies in bytes.
class IndexColumns {
 public:
  IndexColumns(const Schema& schema, const ShardLayout& layout);

  /// NumPy's names of the columns and of their types, in the order of the row: "<u8", "(2,)<u8".
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
  // Of a field, what its columns follow from.
  struct FieldColumns {
    Kind kind;
    std::size_t ragged_axes;  // 0: its shape is in the schema
    bool is_optional;
    [[nodiscard]] bool is_present(const IndexCell& cell) const {
      return is_located(kind) ? cell.place.offset != kMissing : !cell.lacks_number;
    }
  };
  void add_field(const Field& field);
  void add_place(const std::string& name);
  void encode_number_or_place(const FieldColumns& field, const IndexCell& cell,
                              ByteWriter& into) const;
  void read_number_or_place(const FieldColumns& field, ByteReader& from, IndexCell& cell) const;

  std::vector<FieldColumns> fields_;
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
  void append(const IndexRow& row);
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
