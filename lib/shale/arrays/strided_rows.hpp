#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shale/arrays/row_stream.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// An array whose axes may run in any order and with any step, as a view of a tensor does.
struct StridedArray {
  std::shared_ptr<const InputFile> file;
  std::uint64_t data_offset = 0;              ///< of the first element
  std::vector<std::uint64_t> shape, strides;  ///< in elements; at least one axis; all in the file
  std::uint64_t item_bytes = 0;
};

/// Its rows in C order. A row that lies densely is read at once, any other one run of elements
/// after the other. Memory: 4 MiB.
/// Errors: Code::damaged for a file that ends too early; Code::io.
[[nodiscard]] std::unique_ptr<RowStream> open_strided(StridedArray array);

}  // namespace shale
