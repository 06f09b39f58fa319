#include "shale/shards/side_folder.hpp"

#include "shale/shards/set_swap.hpp"

namespace shale {
namespace {

// What cannot be read is not ours to discard; what a killed repair made has no head.
bool can_be_continued(const WorkFolder& work) try {
  const JournalSummary run = work.previous_run();
  return run.holds_lines() && !run.head.empty();
} catch (const Error&) {
  return true;
}

}  // namespace

SideFolder::SideFolder(const std::string& dataset) : outer_(dataset) {
  (void)finish_swap(SetPlace::of_dataset(dataset), outer_);
  if (can_be_continued(outer_)) inner_ = WorkFolder::inside(outer_);
  work().clear();
}

}  // namespace shale
