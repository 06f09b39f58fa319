#include "shale/io/walk.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

mode_t type_of(const dirent& entry) { return static_cast<mode_t>(DTTOIF(entry.d_type)); }

// Links are followed, and some file systems do not tell types with names.
bool needs_stat(const dirent& entry) {
  return entry.d_type == DT_UNKNOWN || entry.d_type == DT_LNK;
}

[[noreturn]] void throw_stat_error(const std::string& path, int error) {
  Error failure(Code::io, "cannot be read (stat)");
  if (error == ENOENT || error == ELOOP)
    failure.hint("if it is a broken link, remove it or restore what it points to");
  throw failure.at(path).because_errno(error);
}

}  // namespace

bool is_hidden_name(std::string_view name) { return name.front() == '.' || name == "__MACOSX"; }

// One folder being read.
class OpenFolder {
 public:
  // A folder that is missing is Code::not_found only if it `is_root`.
  OpenFolder(std::string path, bool is_root) : path_(std::move(path)) {
    // Not by opendir: O_NONBLOCK and O_DIRECTORY are wanted, so that a FIFO put there in between
    // cannot block.
    const int descriptor = retried(path_, [&] {
      return ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    });
    stream_.reset(descriptor >= 0 ? ::fdopendir(descriptor) : nullptr);
    if (stream_) return;
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw Error(is_root && error == ENOENT ? Code::not_found : Code::io, "folder cannot be opened")
        .at(path_)
        .because_errno(error);
  }

  // The next entry besides "." and "..", null after the last. One thread at a time.
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

  // Any thread. Of the entry: of what it links to.
  [[nodiscard]] struct stat facts() const {
    struct stat facts {};
    if (retried(path_, [&] { return ::fstat(::dirfd(stream_.get()), &facts); }) != 0)
      throw_stat_error(path_, errno);
    return facts;
  }
  [[nodiscard]] struct stat facts_of(const char* name) const {
    struct stat facts {};
    const auto ask = [&] { return ::fstatat(::dirfd(stream_.get()), name, &facts, 0); };
    if (retried(path_, ask) != 0) throw_stat_error(join_path(path_, name), errno);
    return facts;
  }

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  std::string path_;
  std::unique_ptr<DIR, Close> stream_;
};

namespace {

// A part: what is held of a folder at a time, and how long a stop may have to wait.
constexpr std::size_t kMostEntries = 512, kMostNameBytes = 32 * 1024;

void add_entry(FolderPart& part, const dirent& told, const FolderQuestion& question) {
  const std::string_view name = told.d_name;
  FolderPart::Entry entry{.name_begin = static_cast<std::uint32_t>(part.names.size()),
                          .name_bytes = static_cast<std::uint32_t>(name.size()),
                          .type = type_of(told)};
  if (question.keep_hidden || !is_hidden_name(name)) {
    entry.is_sized = !question.wants_size || question.wants_size(name);
    entry.needs_stat = needs_stat(told) || (entry.type == S_IFREG && entry.is_sized);
  }
  part.names.append(name).append(1, '\0');
  part.entries.push_back(entry);
}

void ask_about_entry(FolderPart& part, FolderPart::Entry& entry, const OpenFolder& folder) {
  const struct stat facts = folder.facts_of(part.names.c_str() + entry.name_begin);
  entry.type = facts.st_mode & S_IFMT;
  if (entry.type != S_IFREG || !entry.is_sized) return;
  entry.bytes = static_cast<std::uint64_t>(facts.st_size);
  entry.modified_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

void add_names(FolderPart& part, std::shared_ptr<OpenFolder> folder,
               const FolderQuestion& question) {
  while (part.entries.size() < kMostEntries && part.names.size() < kMostNameBytes) {
    const dirent* const told = folder->next();
    if (told == nullptr) return;
    add_entry(part, *told, question);
  }
  part.rest = std::move(folder);
}

// One folder after the other, by the thread that walks.
class OneByOne final : public FolderReader {
 public:
  FolderPart begin(const std::string& path, bool is_root, const WalkOptions& options) override {
    return begin_folder(path, is_root, question_of(options));
  }
  FolderPart next(FolderPart before, const WalkOptions& options) override {
    const std::shared_ptr<OpenFolder> folder = std::move(before.rest);
    FolderPart part = next_names(folder, question_of(options));
    ask_about(part, *folder);
    return part;
  }
  bool expect(const std::string&, const WalkOptions&) override { return false; }
};

class Walk {
 public:
  Walk(const std::string& root, const WalkOptions& options,
       const std::function<void(const WalkedFile&)>& visit, FolderReader& reader)
      : root_(root), options_(options), visit_(visit), reader_(reader) {}

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
      if (level.expected > 0) --level.expected;
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
    std::size_t expected = 0;  // of them, from the last one on: the reader knows of them
  };

  /// Reads the folder named by directory_ and makes it the last level, unless it is its own
  /// ancestor.
  void enter() {
    const std::string path = directory_.empty() ? root_ : join_path(root_, directory_);
    FolderPart part = reader_.begin(path, levels_.empty(), options_);
    if (!part.is_open) std::rethrow_exception(part.error);
    if (options_.enters) options_.enters(part.device, part.inode);
    for (const Level& ancestor : levels_) {
      if (ancestor.device == part.device && ancestor.inode == part.inode) {
        ++counts_.cut_loops;
        return;
      }
    }
    if (!levels_.empty()) ++counts_.directories;
    expect_folders();
    Level level{directory_.size(), part.device, part.inode, {}};
    for (;; part = reader_.next(std::move(part), options_)) {
      for (const FolderPart::Entry& entry : part.entries) meet(part.name(entry), entry, level);
      if (part.error) std::rethrow_exception(part.error);
      if (!part.rest) break;
    }
    levels_.push_back(std::move(level));
    expect_folders();
  }

  /// Tells the reader which folders come next, as many as it wants to know.
  void expect_folders() {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      while (level->expected < level->pending.size()) {
        const std::string& name = level->pending[level->pending.size() - 1 - level->expected];
        const std::string directory = directory_.substr(0, level->directory_length);
        const std::string path =
            join_path(directory.empty() ? root_ : join_path(root_, directory), name);
        if (!reader_.expect(path, options_)) return;
        ++level->expected;
      }
    }
  }

  void meet(std::string_view name, const FolderPart::Entry& entry, Level& level) {
    if (is_hidden_name(name) && !options_.keep_hidden) {
      ++counts_.hidden;
      pass_over(name, PassedOver::hidden);
    } else if (entry.type == S_IFREG) {
      ++counts_.files;
      visit_({.directory = directory_,
              .name = name,
              .bytes = entry.bytes,
              .modified_ns = entry.modified_ns});
    } else if (entry.type == S_IFDIR) {
      level.pending.emplace_back(name);
    } else {
      ++counts_.other;
      pass_over(name, PassedOver::special);
    }
  }

  void pass_over(std::string_view name, PassedOver reason) const {
    if (options_.pass_over) options_.pass_over(directory_, name, reason);
  }

  const std::string& root_;
  const WalkOptions& options_;
  const std::function<void(const WalkedFile&)>& visit_;
  FolderReader& reader_;
  WalkCounts counts_;
  std::string directory_;  // relative to the root
  std::vector<Level> levels_;
};

}  // namespace

FolderPart begin_folder(const std::string& path, bool is_root,
                        const FolderQuestion& question) noexcept {
  FolderPart part;
  try {
    const auto folder = std::make_shared<OpenFolder>(path, is_root);
    const struct stat facts = folder->facts();
    part.is_open = true;
    part.device = facts.st_dev;
    part.inode = facts.st_ino;
    try {
      add_names(part, folder, question);
    } catch (...) {
      part.error = std::current_exception();
    }
    ask_about(part, *folder);
  } catch (...) {
    part.error = std::current_exception();
  }
  return part;
}

FolderPart next_names(std::shared_ptr<OpenFolder> folder, const FolderQuestion& question) noexcept {
  FolderPart part;
  try {
    add_names(part, std::move(folder), question);
  } catch (...) {
    part.error = std::current_exception();
  }
  return part;
}

void ask_about(FolderPart& part, const OpenFolder& folder) noexcept {
  for (std::size_t i = 0; i < part.entries.size(); ++i) {
    if (!part.entries[i].needs_stat) continue;
    try {
      ask_about_entry(part, part.entries[i], folder);
    } catch (...) {
      part.error = std::current_exception();
      part.rest = nullptr;
      part.entries.resize(i);
      return;
    }
  }
}

FolderQuestion question_of(const WalkOptions& options) {
  return {.keep_hidden = options.keep_hidden, .wants_size = options.wants_size};
}

WalkCounts walk_folder(const std::string& root, const WalkOptions& options,
                       const std::function<void(const WalkedFile&)>& visit) {
  OneByOne reader;
  return walk_folder(root, options, visit, reader);
}

WalkCounts walk_folder(const std::string& root, const WalkOptions& options,
                       const std::function<void(const WalkedFile&)>& visit, FolderReader& reader) {
  return Walk(root, options, visit, reader).run();
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
