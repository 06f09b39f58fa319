#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shale {

/// A bar of a histogram: values in [low, high), the last one in [low, high].
struct HistogramBar {
  double low = 0, high = 0;
  std::uint64_t count = 0;
  friend bool operator==(const HistogramBar&, const HistogramBar&) = default;
};

/// Counts whole numbers (bytes, pixels, samples per class) in bars of equal ratio, at most
/// kMostBars of them and one for 0. Bounds are the same on every machine, and what is counted where
/// does not depend on the order.
class RatioBins {
 public:
  static constexpr std::size_t kMostBars = 40;

  void count(std::uint64_t value, std::uint64_t times = 1);
  void add(const RatioBins& more);
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// From the bar of the smallest to that of the largest; none if nothing was counted.
  [[nodiscard]] std::vector<HistogramBar> bars() const;

 private:
  static constexpr std::size_t kPerOctave = 8;
  std::uint64_t zeros_ = 0, total_ = 0;
  std::array<std::uint64_t, 64 * kPerOctave> counts_{};
};

/// Bars of equal width between two finite numbers: what numpy.histogram(values, bins, (low, high))
/// counts, edges included. Of whole numbers that are few, one bar for each.
class WidthBins {
 public:
  static constexpr std::size_t kBars = 40;

  WidthBins() = default;
  /// `are_whole`: all values are integers.
  WidthBins(double low, double high, bool are_whole);
  /// No bars: nothing was seen.
  [[nodiscard]] bool is_empty() const { return edges_.empty(); }
  /// The same bars, nothing counted.
  [[nodiscard]] WidthBins emptied() const;
  /// Values outside of the range, and NaN, count nowhere.
  void count(double value, std::uint64_t times = 1);
  void add(const WidthBins& more);
  [[nodiscard]] std::vector<HistogramBar> bars() const;

 private:
  std::vector<double> edges_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace shale
