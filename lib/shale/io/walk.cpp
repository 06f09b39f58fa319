#include "shale/io/walk.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

std::string join(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (!path.empty() && path.back() != '/') path += '/';
  return path += name;
}

mode_t type_of(const dirent& entry) { return static_cast<mode_t>(DTTOIF(entry.d_type)); }
/// Links are followed, and some file systems do not tell types with names.
bool needs_stat(const dirent& entry) {
  return entry.d_type == DT_UNKNOWN || entry.d_type == DT_LNK;
}

/// One folder being read: closed before the next is opened, so depth costs no descriptors.
class OpenFolder {
 public:
  /// Errors: same as walk_folder; a folder that is missing is Code::not_found only if it `is_root`.
  OpenFolder(const std::string& path, bool is_root) : path_(path) {
    // Not by opendir: O_NONBLOCK and O_DIRECTORY are wanted, so that a FIFO put there in between
    // cannot block.
    const int descriptor = retried(path, [&] {
      return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    });
    stream_.reset(descriptor >= 0 ? ::fdopendir(descriptor) : nullptr);
    if (stream_) return;
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw Error(is_root && error == ENOENT ? Code::not_found : Code::io, "folder cannot be opened")
        .at(path)
        .because_errno(error);
  }

  /// The next entry besides "." and "..", null after the last.
  const dirent* next() {
    StorageRetry retry(path_);
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream_.get());
      if (entry == nullptr && errno != 0) {
        const int error = errno;
        if (retry.again(error)) continue;
        throw Error(Code::io, "folder cannot be read").at(path_).because_errno(error);
      }
      const std::string_view name = entry != nullptr ? entry->d_name : "";
      if (name != "." && name != "..") return entry;
    }
  }

  [[nodiscard]] struct stat facts() const {
    struct stat facts {};
    if (retried(path_, [&] { return ::fstat(::dirfd(stream_.get()), &facts); }) != 0)
      throw_stat_error(path_, errno);
    return facts;
  }
  /// Of the entry, or of what it links to.
  [[nodiscard]] struct stat facts_of(const char* name) const {
    struct stat facts {};
    const auto ask = [&] { return ::fstatat(::dirfd(stream_.get()), name, &facts, 0); };
    if (retried(path_, ask) != 0) throw_stat_error(join(path_, name), errno);
    return facts;
  }

 private:
  [[noreturn]] static void throw_stat_error(const std::string& path, int error) {
    Error failure(Code::io, "cannot be read (stat)");
    if (error == ENOENT || error == ELOOP)
      failure.hint("if it is a broken link, remove it or restore what it points to");
    throw failure.at(path).because_errno(error);
  }

  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::string& path_;
  std::unique_ptr<DIR, Close> stream_;
};

class Walk {
 public:
  Walk(const std::string& root, const WalkOptions& options,
       const std::function<void(const WalkedFile&)>& visit)
      : root_(root), options_(options), visit_(visit) {}

  WalkCounts run() {
    enter();
    while (!levels_.empty()) {
      Level& level = levels_.back();
      directory_.resize(level.directory_length);
      if (level.pending.empty()) {
        levels_.pop_back();
        continue;
      }
      if (!directory_.empty()) directory_ += '/';
      directory_ += level.pending.back();
      level.pending.pop_back();
      enter();
    }
    return counts_;
  }

 private:
  /// A folder whose files have been reported, with the sub-folders that are still to be entered.
  struct Level {
    std::size_t directory_length;
    dev_t device;
    ino_t inode;
    std::vector<std::string> pending;
  };

  /// Reads the folder named by directory_ and makes it the last level, unless it is its own
  /// ancestor.
  void enter() {
    const std::string path = directory_.empty() ? root_ : join(root_, directory_);
    OpenFolder folder(path, levels_.empty());
    const struct stat facts = folder.facts();
    if (options_.enters) options_.enters(facts.st_dev, facts.st_ino);
    for (const Level& ancestor : levels_) {
      if (ancestor.device == facts.st_dev && ancestor.inode == facts.st_ino) {
        ++counts_.cut_loops;
        return;
      }
    }
    if (!levels_.empty()) ++counts_.directories;
    Level level{directory_.size(), facts.st_dev, facts.st_ino, {}};
    while (const dirent* entry = folder.next()) meet(folder, *entry, level);
    levels_.push_back(std::move(level));
  }

  void meet(const OpenFolder& folder, const dirent& entry, Level& level) {
    const std::string_view name = entry.d_name;
    if (name.front() == '.' && !options_.keep_hidden) {
      ++counts_.hidden;
      pass_over(name, PassedOver::hidden);
      return;
    }
    mode_t type = type_of(entry);
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    const bool is_sized = wants_size(name);
    if (needs_stat(entry) || (type == S_IFREG && is_sized)) {
      const struct stat facts = folder.facts_of(entry.d_name);
      type = facts.st_mode & S_IFMT;
      if (type == S_IFREG && is_sized) {
        bytes = static_cast<std::uint64_t>(facts.st_size);
        modified_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
      }
    }
    if (type == S_IFREG) {
      ++counts_.files;
      visit_({.directory = directory_, .name = name, .bytes = bytes, .modified_ns = modified_ns});
    } else if (type == S_IFDIR) {
      level.pending.emplace_back(name);
    } else {
      ++counts_.other;
      pass_over(name, PassedOver::special);
    }
  }

  void pass_over(std::string_view name, PassedOver reason) const {
    if (options_.pass_over) options_.pass_over(directory_, name, reason);
  }

  [[nodiscard]] bool wants_size(std::string_view name) const {
    return !options_.wants_size || options_.wants_size(name);
  }

  const std::string& root_;
  const WalkOptions& options_;
  const std::function<void(const WalkedFile&)>& visit_;
  WalkCounts counts_;
  std::string directory_;  // relative to the root
  std::vector<Level> levels_;
};

}  // namespace

WalkCounts walk_folder(const std::string& root, const WalkOptions& options,
                       const std::function<void(const WalkedFile&)>& visit) {
  return Walk(root, options, visit).run();
}

std::vector<FolderEntry> list_folder(const std::string& folder,
                                     const std::function<bool(const FolderEntry&)>& keeps) {
  OpenFolder open_folder(folder, true);
  std::vector<FolderEntry> entries;
  while (const dirent* entry = open_folder.next()) {
    const mode_t type =
        needs_stat(*entry) ? open_folder.facts_of(entry->d_name).st_mode & S_IFMT : type_of(*entry);
    FolderEntry found{entry->d_name, type == S_IFDIR};
    if (!keeps || keeps(found)) entries.push_back(std::move(found));
  }
  std::sort(entries.begin(), entries.end(), [](const FolderEntry& left, const FolderEntry& right) {
    return left.name < right.name;
  });
  return entries;
}

void visit_names(const std::string& folder,
                 const std::function<bool(const std::string& name)>& visit) {
  OpenFolder open_folder(folder, true);
  while (const dirent* entry = open_folder.next()) {
    if (!visit(entry->d_name)) return;
  }
}

}  // namespace shale
