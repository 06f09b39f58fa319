#pragma once

#include <cstdint>
#include <functional>

#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"

namespace shale {

/// Bytes, block hashes and hash of a file that is there: what OutputFile::finish() said of it when
/// it was written. `progress` gets the bytes read so far before each block, and may throw, to stop.
/// Errors: Code::io; Code::damaged if the file shrinks while it is read.
[[nodiscard]] FileSummary summarize_file(
    const InputFile& file, const std::function<void(std::uint64_t bytes)>& progress = {});

}  // namespace shale
