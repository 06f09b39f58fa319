#include "shale/folders/file_tree.hpp"

#include <optional>
#include <utility>

#include "shale/base/path_text.hpp"
#include "shale/folders/folders_ahead.hpp"

namespace shale {
namespace {

class FolderTree final : public FileTree {
 public:
  explicit FolderTree(std::string root) : root_(std::move(root)) {}

  WalkCounts walk(const std::string& folder, const WalkOptions& options,
                  const std::function<void(const WalkedFile&)>& visit) override {
    if (!ahead_) ahead_.emplace();
    try {
      const WalkCounts counts = walk_folder(path_of(folder), options, visit, *ahead_);
      if (walks_ == 0 || --walks_ == 0) ahead_.reset();
      return counts;
    } catch (...) {
      ahead_.reset();
      walks_ = 0;
      throw;
    }
  }

  void expect_walks(const std::vector<std::string>& folders, const WalkOptions& options) override {
    std::vector<std::string> paths;
    paths.reserve(folders.size());
    for (const std::string& folder : folders) paths.push_back(path_of(folder));
    walks_ = paths.size();
    ahead_.emplace();
    ahead_->expect_roots(paths, options);
  }

  std::vector<FolderEntry> list(const std::string& folder,
                                const std::function<bool(const FolderEntry&)>& keeps) override {
    return list_folder(path_of(folder), keeps);
  }

 private:
  // The root is named as the user named it.
  [[nodiscard]] std::string path_of(const std::string& folder) const {
    return folder.empty() ? root_ : join_path(root_, folder);
  }

  std::string root_;
  std::uint64_t walks_ = 0;  // that are expected
  std::optional<FoldersAhead> ahead_;
};

class TreeBelow final : public FileTree {
 public:
  TreeBelow(std::shared_ptr<FileTree> tree, std::string folder)
      : tree_(std::move(tree)), folder_(std::move(folder)) {}

  WalkCounts walk(const std::string& folder, const WalkOptions& options,
                  const std::function<void(const WalkedFile&)>& visit) override {
    return tree_->walk(path_of(folder), options, visit);
  }

  void expect_walks(const std::vector<std::string>& folders, const WalkOptions& options) override {
    std::vector<std::string> paths;
    paths.reserve(folders.size());
    for (const std::string& folder : folders) paths.push_back(path_of(folder));
    tree_->expect_walks(paths, options);
  }

  std::vector<FolderEntry> list(const std::string& folder,
                                const std::function<bool(const FolderEntry&)>& keeps) override {
    return tree_->list(path_of(folder), keeps);
  }

  std::shared_ptr<const ArchiveFile> archive() const override { return tree_->archive(); }
  std::vector<std::string> notes() const override { return tree_->notes(); }

 private:
  [[nodiscard]] std::string path_of(const std::string& folder) const {
    return folder.empty() ? folder_ : join_path(folder_, folder);
  }

  std::shared_ptr<FileTree> tree_;
  std::string folder_;
};

}  // namespace

std::shared_ptr<FileTree> open_folder_tree(std::string root) {
  return std::make_shared<FolderTree>(std::move(root));
}

std::shared_ptr<FileTree> tree_below(std::shared_ptr<FileTree> tree, std::string folder) {
  return std::make_shared<TreeBelow>(std::move(tree), std::move(folder));
}

}  // namespace shale
