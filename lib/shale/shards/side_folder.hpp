#pragma once

#include <memory>
#include <string>

#include "shale/shards/work_folder.hpp"

namespace shale {

/// Where a command works that puts single files of a finished dataset right. It holds the lock of
/// the dataset's work folder. A run that was stopped there, and is to extend or replace the
/// dataset, stays as it is: then this folder is one inside of it.
class SideFolder {
 public:
  /// Finishes a set that was on its way into place. Errors: same as WorkFolder and finish_swap.
  explicit SideFolder(const std::string& dataset);

  /// An empty folder.
  [[nodiscard]] WorkFolder& work() { return inner_ ? *inner_ : outer_; }
  [[nodiscard]] const WorkFolder& work() const { return inner_ ? *inner_ : outer_; }
  void remove() noexcept { work().remove(); }

 private:
  WorkFolder outer_;
  std::unique_ptr<WorkFolder> inner_;
};

}  // namespace shale
