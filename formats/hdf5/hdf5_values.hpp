#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

#include "formats/hdf5/hdf5_foreign_columns.hpp"
#include "formats/hdf5/hdf5_heap.hpp"
#include "formats/hdf5/hdf5_rows.hpp"

namespace shale {

/// Finds the values of one located column of a file that another tool made. `heap` is shared by the
/// columns of a file. Not thread-safe.
class Hdf5Values {
 public:
  Hdf5Values(const Hdf5ForeignColumn& column, std::uint64_t base_address, const InputFile& file,
             Hdf5Heap& heap);

  /// Where the value of a row lies; kMissing if it was never written. Its bytes are inside the
  /// file. Errors: Code::damaged with the offset of what is wrong; Code::unsupported for a value
  /// that is split over several chunks; Code::io.
  [[nodiscard]] FieldPlace place_of(std::uint64_t row);

  /// Where the elements of a list lie, whose place is that of the row. Errors: as place_of.
  [[nodiscard]] std::vector<FieldPlace> elements_of(std::uint64_t row, const FieldPlace& list);

  /// Rows of the dataset itself, for numbers.
  [[nodiscard]] Hdf5Rows& rows() { return rows_; }

 private:
  [[nodiscard]] FieldPlace row_place(std::uint64_t row);
  [[nodiscard]] FieldPlace flat_place(std::uint64_t first, std::uint64_t values);
  [[nodiscard]] FieldPlace list_place(std::uint64_t row);
  [[nodiscard]] Error not_ascending(std::uint64_t begin, std::uint64_t end,
                                    std::uint64_t bytes) const;
  [[nodiscard]] FieldPlace heap_place(std::uint64_t row);
  [[nodiscard]] FieldPlace padded_place(std::uint64_t row);

  Hdf5ForeignColumn::Form form_;
  std::uint64_t base_address_;
  const InputFile& file_;
  Hdf5Heap& heap_;
  Hdf5Rows rows_;
  std::optional<Hdf5Rows> offsets_, firsts_;
  std::uint64_t heap_bytes_ = 0;  // of all values so far
  std::uint64_t next_row_ = 0;
};

}  // namespace shale
