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

/// Whether a name is that of something hidden: it begins with a dot, or is that of the folder which
/// a Mac packs beside the others, "__MACOSX".
[[nodiscard]] bool is_hidden_name(std::string_view name);

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

/// One regular file (or link to one) met on a walk. Names are raw bytes. The strings are valid
/// during the callback only.
struct WalkedFile {
  std::string_view directory;  ///< relative to the root, "" for the root itself, no trailing slash
  std::string_view name;
  std::uint64_t bytes;           ///< 0 unless the walk was asked for sizes
  std::int64_t modified_ns = 0;  ///< since 1970; 0 as `bytes`
  std::uint64_t offset = 0;      ///< of one in archives: what FileTree::place_of takes
};

/// Why a walk passes an entry over.
enum class PassedOver { hidden, special /**< a socket, FIFO or device */ };

struct WalkOptions {
  bool keep_hidden = false;  ///< enter and report entries whose name begins with '.'
  /// Asked with a name before a size is fetched: false skips the stat, bytes is 0. Null: always.
  /// Owns what it uses, and depends on the name alone: other threads may ask, too, and later.
  std::function<bool(std::string_view name)> wants_size;
  /// Called for each entry that is passed over, with the folder it is in as WalkedFile has it. May
  /// be null.
  std::function<void(std::string_view directory, std::string_view name, PassedOver)> pass_over = {};
  /// Called for each folder that is entered, the root included, with what it is. May be null.
  std::function<void(std::uint64_t device, std::uint64_t inode)> enters = {};
};

/// What was met. `directories`: entered, the root not counted; `hidden`: entries passed over;
/// `other`: sockets, devices ...
struct WalkCounts {
  std::uint64_t files = 0, directories = 0, hidden = 0, cut_loops = 0, other = 0;
};

/// What a walk with these options asks of a folder.
[[nodiscard]] FolderQuestion question_of(const WalkOptions& options);

/// What reads folders for a walk.
class FolderReader {
 public:
  virtual ~FolderReader() = default;
  /// The beginning of a folder. Its own thread: what it throws is what reading it threw.
  [[nodiscard]] virtual FolderPart begin(const std::string& path, bool is_root,
                                         const WalkOptions& options) = 0;
  /// What comes behind a part that was not the last one.
  [[nodiscard]] virtual FolderPart next(FolderPart before, const WalkOptions& options) = 0;
  /// A folder that will be begun before long may be read now. False: not now.
  virtual bool expect(const std::string& path, const WalkOptions& options) = 0;
};

/// Walks a folder, following links to files and folders; a link to a folder that is its own
/// ancestor is not followed (counted). A broken link is an error. The order is unspecified, but
/// does not depend on the reader: whoever needs another one sorts. Calls `visit` on each file.
/// Memory: the names of the folders still to be entered on each level, and a part of a folder; one
/// descriptor, whatever the depth, and what the reader holds. Stats each wanted file once, and each
/// link. Errors: Code::not_found if the root is missing; Code::io with the path of what could not
/// be read (a path longer than the system's PATH_MAX, 4096 bytes, included): the first one in the
/// order of the walk.
WalkCounts walk_folder(const std::string& root, const WalkOptions& options,
                       const std::function<void(const WalkedFile&)>& visit);
WalkCounts walk_folder(const std::string& root, const WalkOptions& options,
                       const std::function<void(const WalkedFile&)>& visit, FolderReader& reader);

/// One entry of the root itself.
struct FolderEntry {
  std::string name;
  bool is_directory;         ///< after following links
  std::uint64_t offset = 0;  ///< as WalkedFile::offset
};
/// The entries of one folder that `keeps` is true of, or all; hidden ones included, sorted
/// bytewise. Memory: what is kept. Errors: same as walk_folder.
[[nodiscard]] std::vector<FolderEntry> list_folder(
    const std::string& folder, const std::function<bool(const FolderEntry&)>& keeps = {});

/// Calls `visit` with the name of each entry of a folder, links and hidden ones included, in any
/// order, until it returns false. Errors: same as list_folder.
void visit_names(const std::string& folder,
                 const std::function<bool(const std::string& name)>& visit);

}  // namespace shale
