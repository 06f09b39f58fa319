#pragma once

#include "shale/io/input_file.hpp"
#include "shale/io/output_file.hpp"

namespace shale {

/// Bytes, block hashes and hash of a file that is there: what OutputFile::finish() said of it when
/// it was written. Errors: Code::io; Code::damaged if the file shrinks meanwhile.
[[nodiscard]] FileSummary summarize_file(const InputFile& file);

}  // namespace shale
