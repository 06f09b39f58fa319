#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace shale {

/// Called now and then during the walk through a file, which may take hours, with the approximate
/// number of bytes that were walked and their total. Throws to stop the walk. Called by the walking
/// thread. Null: not called.
using WalkProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Calls a WalkProgress at every few steps of a walk. A step is a row, a page, or a read of no more
/// than 256 KiB, so a walk stops within 4 MiB.
class WalkPace {
 public:
  /// `progress` is borrowed.
  WalkPace(const WalkProgress& progress, std::uint64_t all_bytes)
      : progress_(progress), all_bytes_(all_bytes) {}

  /// Errors: what the progress throws.
  void step() {
    constexpr std::uint64_t kSteps = 16;
    if (steps_++ % kSteps == 0 && progress_) progress_(done_bytes_, all_bytes_);
  }
  void step_to(std::uint64_t done_bytes) {
    done_bytes_ = std::min(done_bytes, all_bytes_);
    step();
  }
  void step_to_row(std::uint64_t row, std::uint64_t rows) {
    step_to(static_cast<std::uint64_t>(static_cast<double>(all_bytes_) * static_cast<double>(row) /
                                       static_cast<double>(std::max<std::uint64_t>(1, rows))));
  }

 private:
  const WalkProgress& progress_;
  std::uint64_t all_bytes_, done_bytes_ = 0, steps_ = 0;
};

}  // namespace shale
