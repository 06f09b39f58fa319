#include "shale/io/walk.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include <sys/stat.h>

#include "shale/base/path_text.hpp"
#include "shale/io/open_folder.hpp"

namespace shale {
namespace {

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
    if (name.front() == '.' && !options_.keep_hidden) {
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
