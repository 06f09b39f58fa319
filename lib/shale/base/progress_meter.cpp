#include "shale/base/progress_meter.hpp"

namespace shale {

ProgressMeter::ProgressMeter(Clock::duration interval, bool shows_ends, Clock::time_point begin)
    : interval_(interval), shows_ends_(shows_ends), begin_(begin), last_(begin) {}

std::optional<ProgressView> ProgressMeter::report(std::uint64_t done, std::uint64_t total,
                                                  std::uint64_t bytes, Clock::time_point now) {
  const bool is_end = shows_ends_ && (is_first_ || done == total);
  if (now - last_ < interval_ && !is_end) return std::nullopt;
  last_ = now;
  is_first_ = false;
  ProgressView view{.done = done, .total = total, .bytes = bytes};
  const bool is_unknown = done > total;
  view.share = is_unknown   ? 0.0
               : total == 0 ? 1.0
                            : static_cast<double>(done) / static_cast<double>(total);
  view.seconds = std::chrono::duration<double>(now - begin_).count();
  if (view.seconds > 0) {
    view.bytes_per_second = static_cast<std::uint64_t>(static_cast<double>(bytes) / view.seconds);
  }
  if (view.share > 0) view.seconds_left = view.seconds / view.share - view.seconds;
  return view;
}

}  // namespace shale
