#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "shale/flow/ordered_pipeline.hpp"
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

}  // namespace shale
