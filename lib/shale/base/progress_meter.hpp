#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace shale {

/// How far a job has got at one moment, and how fast.
struct ProgressView {
  std::uint64_t done = 0, total = 0, bytes = 0;
  double share = 0;    ///< done of total; 1 of nothing; 0 while the total of a stream is not known
  double seconds = 0;  ///< since the beginning
  std::uint64_t bytes_per_second = 0;
  std::optional<double> seconds_left = {};  ///< unknown before anything is done
};

/// Decides when progress is shown: at most once per interval, and not before the first has passed.
class ProgressMeter {
 public:
  using Clock = std::chrono::steady_clock;
  /// `shows_ends`: also show the first report, and each whose `done` is `total`.
  ProgressMeter(Clock::duration interval, bool shows_ends, Clock::time_point begin);
  /// What to show now, if it is time. `total`: less than `done` if it is not known.
  [[nodiscard]] std::optional<ProgressView> report(std::uint64_t done, std::uint64_t total,
                                                   std::uint64_t bytes, Clock::time_point now);

 private:
  Clock::duration interval_;
  bool shows_ends_, is_first_ = true;
  Clock::time_point begin_, last_;
};

}  // namespace shale
