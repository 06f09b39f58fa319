#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/targets/split_lists.hpp"

namespace shale {

/// The lists of a split that are written next to an output which is one file. They are written in
/// its work folder, and get their names right before it does: a kill in between leaves lists
/// without a file, and the same command accepts them. A file that already has the name of one is
/// never replaced.
class ListsBeside {
 public:
  /// `most_missing`: how many rows of a list may turn out to be skipped. Errors: Code::exists for a
  /// file that cannot be what this run will write, with its name; same as SplitLists.
  ListsBeside(const std::string& output, SplitLists lists, std::uint64_t most_missing);
  /// Takes the names back, unless settle() was called.
  ~ListsBeside();
  ListsBeside(const ListsBeside&) = delete;
  ListsBeside& operator=(const ListsBeside&) = delete;

  [[nodiscard]] const SplitLists& lists() const { return lists_; }
  /// What they hold: planned, or once written.
  [[nodiscard]] std::vector<WrittenList> report() const;
  /// Errors: same as SplitLists::write.
  void write(const std::string& work_folder, const SplitLists::KeySet& skipped);
  /// Each gets its name, durably, if it is free; one whose content is the same may have it. Errors:
  /// Code::exists for any other; Code::io.
  void take_names();
  /// The names stay.
  void settle() { taken_.clear(); }

 private:
  const std::string folder_;
  SplitLists lists_;
  std::string work_folder_;
  std::vector<SplitLists::File> files_;  // planned; written
  std::vector<SplitLists::File> taken_;  // by this run, and not settled
};

}  // namespace shale
