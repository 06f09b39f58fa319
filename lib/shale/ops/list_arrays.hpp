#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/format/file_contents.hpp"

namespace shale {

/// All arrays of a file that another tool wrote, where they have names: HDF5, .npz, .pt,
/// .safetensors. Nullopt for any other path. Errors: same as Format::list_contents, open_arrays.
[[nodiscard]] std::optional<FileContents> list_arrays(const std::string& path,
                                                      const Events& events);

/// Commands that convert such a file, each of one table, with the names that it has; the most
/// columns first, at most kMostCommands. Each ends with 0 unless values turn out not to fit.
[[nodiscard]] std::vector<std::string> convert_commands(const FileContents& contents,
                                                        const std::string& path);
inline constexpr std::size_t kMostCommands = 4;

}  // namespace shale
