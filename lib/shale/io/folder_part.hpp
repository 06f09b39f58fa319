#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace shale {

class OpenFolder;

/// What is to be known of the entries of a folder.
struct FolderQuestion {
  bool keep_hidden = false;
  std::function<bool(std::string_view name)> wants_size;  ///< as WalkOptions has it
};

/// Some entries of a folder, in the order in which the system tells them.
struct FolderPart {
  struct Entry {
    std::uint32_t name_begin = 0, name_bytes = 0;  ///< in `names`
    mode_t type = 0;                               ///< S_IFMT, links followed; hidden ones: as told
    bool needs_stat = false, is_sized = false;
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
  };

  bool is_open = false;  ///< the folder could be opened: the first part says which one it is
  dev_t device = 0;
  ino_t inode = 0;
  std::string names;  ///< each with a NUL behind it
  std::vector<Entry> entries;
  std::exception_ptr error;          ///< what stopped the reading behind these entries
  std::shared_ptr<OpenFolder> rest;  ///< there may be more; null: there is not

  [[nodiscard]] std::string_view name(const Entry& entry) const {
    return std::string_view(names).substr(entry.name_begin, entry.name_bytes);
  }
};

/// Opens a folder and reads its first entries, with what has to be asked about them. Never throws:
/// errors are in the part (Code::not_found for a root that is missing, else Code::io).
[[nodiscard]] FolderPart begin_folder(const std::string& path, bool is_root,
                                      const FolderQuestion& question) noexcept;
/// The names that come next, without asking about them; ask_about() does.
[[nodiscard]] FolderPart next_names(std::shared_ptr<OpenFolder> folder,
                                    const FolderQuestion& question) noexcept;
/// Any thread, of several parts of one folder at once. Never throws: as above.
void ask_about(FolderPart& part, const OpenFolder& folder) noexcept;

}  // namespace shale
