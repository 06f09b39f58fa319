#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shale/io/archive_file.hpp"
#include "shale/io/walk.hpp"

namespace shale {

/// A folder that samples are made from, wherever its files lie: in the file system, or in an
/// archive, which is then walked as the folder that unpacking it makes. Folders are named by their
/// paths relative to the root, "" is the root. One thread.
class FileTree {
 public:
  virtual ~FileTree() = default;
  /// As walk_folder.
  virtual WalkCounts walk(const std::string& folder, const WalkOptions& options,
                          const std::function<void(const WalkedFile&)>& visit) = 0;
  /// The folders of the next walks, in their order, with the options that they will have: what
  /// takes long may begin before.
  virtual void expect_walks(const std::vector<std::string>& folders, const WalkOptions& options) {
    (void)folders;
    (void)options;
  }
  /// As list_folder.
  [[nodiscard]] virtual std::vector<FolderEntry> list(
      const std::string& folder, const std::function<bool(const FolderEntry&)>& keeps) = 0;
  /// The file that all of its files lie in, each at WalkedFile::offset; null: there is none.
  [[nodiscard]] virtual std::shared_ptr<const ArchiveFile> archive() const { return nullptr; }
  /// What the user should know of it after a walk, a sentence each.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

/// The folder at `root`.
[[nodiscard]] std::shared_ptr<FileTree> open_folder_tree(std::string root);

/// One of a tree's folders as a tree. `folder`: not "".
[[nodiscard]] std::shared_ptr<FileTree> tree_below(std::shared_ptr<FileTree> tree,
                                                   std::string folder);

}  // namespace shale
