#include "shale/folders/folders_ahead.hpp"

#include <utility>

namespace shale {

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

}  // namespace shale
