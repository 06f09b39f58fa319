#pragma once

#include <optional>
#include <string>
#include <vector>

// A text file that lists files of another tool is one dataset: their rows, one file after the other
// (docs/foreign.md).

namespace shale {

struct SetMember {
  std::string name;  ///< as the list has it
  std::string path;
};

/// The files that a list names, in its order, a file named twice twice; nullopt: the file at `path`
/// is not such a list. A name is looked for in the folder of the list and in the current directory.
/// Errors: Code::not_found for a name that is in neither; Code::usage for one that is a different
/// file in each; same as Format::list_files.
[[nodiscard]] std::optional<std::vector<SetMember>> files_of_list(const std::string& path);

}  // namespace shale
