#pragma once

#include <cstdint>
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
