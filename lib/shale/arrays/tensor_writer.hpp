#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "shale/format/tensor_file.hpp"
#include "shale/io/output_file.hpp"

namespace shale {

/// A file that holds the rows of a column, from `offset` on.
struct ColumnFile {
  std::string path;
  std::uint64_t offset = 0;
};

/// Writes a file of tensors from one file per column. Each of those is removed when it is in.
/// Memory: 1 MiB. `stop_if_asked` is called for each MiB. Errors: Code::io; those of
/// `stop_if_asked`.
void write_tensors(OutputFile& file, const TensorFrame& frame, std::span<const ColumnFile> columns,
                   const std::function<void()>& stop_if_asked);

}  // namespace shale
