#pragma once

#include <cstdint>
#include <functional>

#include "shale/base/bytes.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Hands out `bytes` of a file from `offset` on, 1 MiB at a time. Errors: Code::damaged if the file
/// ends before; Code::io; those of `sink`.
void visit_file_pieces(const InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                       const std::function<void(Bytes)>& sink);

}  // namespace shale
