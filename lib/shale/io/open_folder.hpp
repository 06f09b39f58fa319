#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <dirent.h>
#include <sys/stat.h>

namespace shale {

[[nodiscard]] inline mode_t type_of(const dirent& entry) {
  return static_cast<mode_t>(DTTOIF(entry.d_type));
}
/// Links are followed, and some file systems do not tell types with names.
[[nodiscard]] inline bool needs_stat(const dirent& entry) {
  return entry.d_type == DT_UNKNOWN || entry.d_type == DT_LNK;
}

/// One folder being read.
class OpenFolder {
 public:
  /// Errors: same as walk_folder; a folder that is missing is Code::not_found only if it `is_root`.
  OpenFolder(std::string path, bool is_root);

  /// The next entry besides "." and "..", null after the last. One thread at a time.
  const dirent* next();

  /// Any thread. Of the entry: of what it links to.
  [[nodiscard]] struct stat facts() const;
  [[nodiscard]] struct stat facts_of(const char* name) const;

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  std::string path_;
  std::unique_ptr<DIR, Close> stream_;
};

}  // namespace shale
