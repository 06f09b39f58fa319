#include "shale/io/temporary_folder.hpp"

#include <cstdlib>

namespace shale {

std::string temporary_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

const char* temporary_folder_hint(const std::string& folder) {
  return folder == temporary_folder() ? "set TMPDIR to a directory that can be written to" : "";
}

}  // namespace shale
