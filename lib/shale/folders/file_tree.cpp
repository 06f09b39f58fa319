#include "shale/folders/file_tree.hpp"

#include <optional>
#include <utility>

#include "shale/base/path_text.hpp"

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

  std::string fingerprint() const override { return tree_->fingerprint(); }
  ArchivedFile place_of(std::uint64_t offset) override { return tree_->place_of(offset); }
  std::string damage_of(std::uint64_t offset) override { return tree_->damage_of(offset); }
  std::vector<std::string> notes() const override { return tree_->notes(); }

 private:
  [[nodiscard]] std::string path_of(const std::string& folder) const {
    return folder.empty() ? folder_ : join_path(folder_, folder);
  }

  std::shared_ptr<FileTree> tree_;
  std::string folder_;
};

}  // namespace

void FoldersAhead::expect_roots(const std::vector<std::string>& paths, const WalkOptions& options) {
  roots_.assign(paths.begin(), paths.end());
  root_question_ = question_of(options);
  if (roots_.size() > 1) expect_more_roots();
}

FoldersAhead::Ticket FoldersAhead::submit(std::function<FolderPart()> read) {
  pipeline_.submit([read = std::move(read)](unsigned) { return read(); });
  return submitted_++;
}

// Results come in the order of the tickets; those that nobody waits for yet are kept.
FolderPart FoldersAhead::take(Ticket ticket) {
  for (; taken_ <= ticket; ++taken_) arrived_.emplace(taken_, pipeline_.take());
  return std::move(arrived_.extract(ticket).mapped());
}

bool FoldersAhead::expect(const std::string& path, const WalkOptions& options) {
  if (expected_.size() >= kMostAhead) return false;
  const auto read = [path, question = question_of(options)] {
    return begin_folder(path, false, question);
  };
  expected_.emplace(path, submit(read));
  return true;
}

void FoldersAhead::expect_more_roots() {
  for (; !roots_.empty() && expected_.size() < kMostAhead; roots_.pop_front()) {
    const auto read = [path = roots_.front(), question = root_question_] {
      return begin_folder(path, true, question);
    };
    expected_.emplace(roots_.front(), submit(read));
  }
}

FolderPart FoldersAhead::begin(const std::string& path, bool is_root, const WalkOptions& options) {
  if (!roots_.empty() && roots_.front() == path) roots_.pop_front();
  const auto found = expected_.extract(path);
  FolderPart part =
      found ? take(found.mapped()) : begin_folder(path, is_root, question_of(options));
  expect_more_roots();
  return part;
}

// Names come one after the other, what is asked about them side by side.
void FoldersAhead::read_names(const std::shared_ptr<OpenFolder>& folder,
                              const FolderQuestion& question) {
  while (!has_all_names_ && parts_.size() < kThreads) {
    auto names = std::make_shared<FolderPart>(next_names(folder, question));
    has_all_names_ = names->rest == nullptr;
    parts_.push_back(submit([names, folder] {
      ask_about(*names, *folder);
      return std::move(*names);
    }));
  }
}

FolderPart FoldersAhead::next(FolderPart before, const WalkOptions& options) {
  const std::shared_ptr<OpenFolder> folder = std::move(before.rest);
  if (parts_.empty()) has_all_names_ = false;
  read_names(folder, question_of(options));
  const Ticket first = parts_.front();
  parts_.pop_front();
  FolderPart part = take(first);
  // An error ends the walk, and a part with one has no rest.
  if (!part.error) part.rest = parts_.empty() && has_all_names_ ? nullptr : folder;
  return part;
}

std::shared_ptr<FileTree> open_folder_tree(std::string root) {
  return std::make_shared<FolderTree>(std::move(root));
}

std::shared_ptr<FileTree> tree_below(std::shared_ptr<FileTree> tree, std::string folder) {
  return std::make_shared<TreeBelow>(std::move(tree), std::move(folder));
}

}  // namespace shale
