#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shale/flow/ordered_pipeline.hpp"
#include "shale/format/archive_file.hpp"
#include "shale/io/walk.hpp"

namespace shale {

/// Reads folders for walks with several threads: those that come next while one is walked, and of a
/// large folder several parts at once. What takes long in a walk is waiting, for a cold disk or a
/// server, so its threads are not those of --jobs. Threads begin with the first folder that is
/// expected. Memory: kMostAhead parts of folders, of at most 32 KiB of names each.
class FoldersAhead final : public FolderReader {
 public:
  static constexpr unsigned kThreads = 8;
  static constexpr std::size_t kMostAhead = 2 * std::size_t{kThreads};

  FoldersAhead() : pipeline_(kThreads) {}

  /// Folders that are walked one after the other, in this order: each is begun as a root.
  void expect_roots(const std::vector<std::string>& paths, const WalkOptions& options);

  [[nodiscard]] FolderPart begin(const std::string& path, bool is_root,
                                 const WalkOptions& options) override;
  [[nodiscard]] FolderPart next(FolderPart before, const WalkOptions& options) override;
  bool expect(const std::string& path, const WalkOptions& options) override;

 private:
  using Ticket = std::uint64_t;

  [[nodiscard]] Ticket submit(std::function<FolderPart()> read);
  [[nodiscard]] FolderPart take(Ticket ticket);
  void expect_more_roots();
  void read_names(const std::shared_ptr<OpenFolder>& folder, const FolderQuestion& question);

  std::map<std::string, Ticket> expected_;
  std::deque<std::string> roots_;  // that nobody reads yet
  FolderQuestion root_question_;
  std::deque<Ticket> parts_;    // of the folder that is walked, which is longer than one
  bool has_all_names_ = false;  // of it
  std::map<Ticket, FolderPart> arrived_;
  Ticket submitted_ = 0, taken_ = 0;
  OrderedPipeline<FolderPart> pipeline_;  // last: its tasks use the others
};

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
  /// Of archives: what they are, in words, where their files are in them, by WalkedFile::offset.
  [[nodiscard]] virtual std::string fingerprint() const { return {}; }
  [[nodiscard]] bool is_archive() const { return !fingerprint().empty(); }
  [[nodiscard]] virtual ArchivedFile place_of(std::uint64_t offset) {
    (void)offset;
    return {};
  }
  /// Why nothing of such a file can be read, in words; empty: nothing known of.
  [[nodiscard]] virtual std::string damage_of(std::uint64_t offset) {
    (void)offset;
    return {};
  }
  /// What the user should know of it after a walk, a sentence each.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

/// The folder at `root`.
[[nodiscard]] std::shared_ptr<FileTree> open_folder_tree(std::string root);

/// One of a tree's folders as a tree. `folder`: not "".
[[nodiscard]] std::shared_ptr<FileTree> tree_below(std::shared_ptr<FileTree> tree,
                                                   std::string folder);

}  // namespace shale
