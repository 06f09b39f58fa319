#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

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

}  // namespace shale
