#pragma once

#include <memory>

#include "shale/arrays/array_file.hpp"
#include "shale/arrays/row_stream.hpp"

namespace shale {

/// The elements of an archive's member from the first on, in its own order of axes and bytes; those
/// of a tensor with strides in C order. What it hands out of a member is proved by the archive's
/// checksum and sizes before the last byte is; nothing beyond the array's own bytes is inflated.
/// Takes 256 KiB, of a tensor 4 MiB; shares `file`.
/// Errors: Code::bug for an array that is_located(); Code::damaged; Code::io.
[[nodiscard]] std::unique_ptr<RowStream> open_member(const ArrayFile& array);

}  // namespace shale
