#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"
#include "shale/trees/hdf5_foreign_columns.hpp"

namespace shale {

/// What a dataset of variable length holds for one element.
struct Hdf5HeapReference {
  std::uint64_t length = 0;      ///< bytes
  std::uint64_t collection = 0;  ///< where its collection begins in the file
  std::uint32_t object = 0;      ///< its number there
};

/// Finds values of variable length in the global heap of an HDF5 file by small preads, without the
/// library and without touching the values. Keeps the tables of the last few collections; memory at
/// most 8 MiB. Not thread-safe.
/// Time: bounded by the file's size; Code::limit beyond that, for references that jump between huge
/// collections.
/// Source: HDF5 File Format Specification 3.0, III.E "Global Heap"; the byte map is in
/// hdf5_values.cpp.
class Hdf5Heap {
 public:
  explicit Hdf5Heap(const InputFile& file) : file_(file), window_(file, kWindowBytes) {}

  /// The offset of the value in the file; `reference.length` bytes from there lie inside the
  /// object and the file. Errors: Code::damaged, with offset, for anything else.
  [[nodiscard]] std::uint64_t place_of(const Hdf5HeapReference& reference);

 private:
  struct Object {
    std::uint64_t offset = 0, length = 0;
    std::uint16_t number = 0;
  };
  struct Collection {
    std::uint64_t address = 0;
    std::vector<Object> objects;  // by number
  };

  const Collection& collection_at(std::uint64_t address);
  void forget_old();
  [[nodiscard]] Collection read_collection(std::uint64_t address);
  [[nodiscard]] Error damage(std::uint64_t address, std::string message) const;

  // Values are skipped: a window of a page reads little more than the tables.
  static constexpr std::uint64_t kWindowBytes = 4096;

  const InputFile& file_;
  WindowReader window_;
  std::deque<Collection> recent_;  // the last used first
  std::size_t recent_objects_ = 0;
  std::uint64_t walked_objects_ = 0;
};

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
  std::uint64_t item_bytes_;  // of variable length: of an element
  std::optional<Hdf5Rows> offsets_, firsts_;
  std::uint64_t heap_bytes_ = 0;  // of all values so far
  std::uint64_t next_row_ = 0;
};

}  // namespace shale
