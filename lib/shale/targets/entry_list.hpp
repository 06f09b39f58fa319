#pragma once

#include <cstdint>
#include <string>

#include "shale/format/layout.hpp"

namespace shale {

/// Writes the text file with a line for each entry of the finished file `data`
/// (Layout::entries_name), durably; the number of lines. Memory: an image. Errors:
/// Code::unsupported for an entry without a line, with its key; Code::io.
[[nodiscard]] std::uint64_t write_entry_list(const FormatLayout& layout, const std::string& data,
                                             const std::string& path);

}  // namespace shale
