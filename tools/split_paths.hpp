#pragma once

#include <string>
#include <vector>

namespace shale::tools {

/// A split, and what names it for a command: a directory, or a pattern.
struct SplitPath {
  std::string name, path;
};

/// Where the splits of a directory are: datasets of shale's, or files that are named after splits.
/// Empty: it has none. Errors: same as files_of_splits.
[[nodiscard]] std::vector<SplitPath> splits_at(const std::string& directory);

}  // namespace shale::tools
