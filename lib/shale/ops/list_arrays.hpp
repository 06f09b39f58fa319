#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/format/file_contents.hpp"
#include "shale/sources/split_folders.hpp"

namespace shale {

/// All arrays of a file that another tool wrote, where they have names: HDF5, .npz, .pt,
/// .safetensors. Nullopt for any other path. Errors: same as Format::list_contents, open_arrays.
[[nodiscard]] std::optional<FileContents> list_arrays(const std::string& path,
                                                      const Events& events);

/// What --split-by makes of the input: the arrays that are named after each split. Errors:
/// Code::usage where it is not one file of named arrays, or none is named so; Code::bad_content
/// where two of a split have one name without it; same as list_arrays.
[[nodiscard]] SplitFolders find_split_columns(const InputRequest& request, const Events& events);

/// Commands that convert such a file, each of one table, with the names that it has; the most
/// columns first, at most kMostCommands; one of all splits, if each is a table and it is one file.
/// Each has an output of its own, `output` or one whose name begins so. Each ends with 0 unless
/// values turn out not to fit, or a file of a set is not like the first.
[[nodiscard]] std::vector<std::string> convert_commands(const FileContents& contents,
                                                        const std::string& path,
                                                        std::string_view output, bool is_set);
inline constexpr std::size_t kMostCommands = 4;

}  // namespace shale
