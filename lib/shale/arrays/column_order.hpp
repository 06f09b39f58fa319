#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// Where the columns of an array in Fortran order lie in its rows in C order. A column is one
/// combination of the indices behind the first; in the file the first of these runs fastest, in a
/// row the last. Thread-safe.
class ColumnOrder {
 public:
  /// `axes`: all lengths but the first, none of them 0; may be empty.
  ColumnOrder(std::span<const std::uint64_t> axes, std::uint64_t item_bytes);

  /// True if columns lie in a row as they lie in the file.
  [[nodiscard]] bool is_kept() const { return axes_.size() < 2; }
  /// Where a column of the file begins in a row, in bytes.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t column) const;
  /// Copies items of one row, which belong to the columns of the file from `first_column` on, to
  /// their places in `row`, which is a whole row. Fastest for all of them at once. Errors:
  /// Code::bug for columns that are not there.
  void place(Bytes items, std::uint64_t first_column, std::span<std::byte> row) const;

 private:
  void place_row(Bytes items, std::span<std::byte> row) const;
  void place_part(Bytes items, std::uint64_t first_column, std::span<std::byte> row) const;

  struct Axis {
    std::uint64_t length;
    std::uint64_t file_step;  // bytes from one index to the next where columns are as in the file
    std::uint64_t row_step;   // the same in a row
  };
  std::vector<Axis> axes_;  // those longer than 1
  std::uint64_t item_bytes_;
};

}  // namespace shale
