#pragma once

#include <string>
#include <string_view>

#include "shale/io/scratch_file.hpp"

namespace shale {

/// Writes a file beside `path`, under a hidden name of its own, and makes it durable: `head`, then
/// what is in `rest` (null: nothing). Returns its path, to be renamed. Errors: Code::io.
[[nodiscard]] std::string written_beside(const std::string& path, std::string_view head,
                                         ScratchFile* rest);

/// True if the file at `path` has these bytes and no others. Errors: Code::io.
[[nodiscard]] bool has_content(const std::string& path, std::string_view head, ScratchFile* rest);

}  // namespace shale
