#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shale/io/file_syncs.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {

/// Files that get their names together: durable by one commit of the file system, not one each.
class PlacedFiles {
 public:
  /// Writes a file beside `path`, under a hidden name of its own: `head`, then what is in `rest`
  /// (null: nothing). Errors: Code::io.
  void add(const std::string& path, std::string_view head, ScratchFile* rest);
  /// Makes them durable, and renames each. Errors: Code::io.
  void place();

 private:
  FileSyncs syncs_;
  std::vector<std::string> paths_;
};

/// True if the file at `path` has these bytes and no others. Errors: Code::io.
[[nodiscard]] bool has_content(const std::string& path, std::string_view head, ScratchFile* rest);

/// Errors: Code::exists for a link that leads nowhere; Code::io.
void refuse_link_to_nothing(const std::string& path);

}  // namespace shale
