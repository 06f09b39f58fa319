#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Charts as SVG elements that are as wide as what they are in: horizontal places are percentages
// and vertical ones pixels, so that text keeps its size on a telephone. Colours are classes of the
// page's style sheet. All text that comes in is escaped here (html_words: names come in as
// `printable` has them); the result is well-formed XML and depends on nothing but the arguments.

namespace shale {

/// A mark on an axis.
struct ChartTick {
  double at = 0;     ///< 0 to 1, from the left or from below
  std::string text;  ///< what stands there
};

/// What all charts have.
struct ChartFrame {
  std::string id;           ///< unique in the page; letters, digits and '-'
  std::string title;        ///< a few words: what the chart shows
  std::string description;  ///< a sentence with the numbers that matter, for who cannot see it
  std::vector<ChartTick> across, up;
  int height = 160;  ///< of the plot, pixels
};

struct ChartBar {
  double height = 0;   ///< 0 to 1; what is above 0 is visible
  std::string text;    ///< shown when the pointer rests on it
  bool is_on = false;  ///< drawn in the colour for what stands out
};
/// Bars side by side, of equal width.
/// Errors: none; what is not within 0 to 1 is drawn at the border, NaN as 0.
[[nodiscard]] std::string svg_bars(const ChartFrame& frame, const std::vector<ChartBar>& bars);

/// Values from left to right in equal steps, 0 to 1; `low` and `high` enclose a band around them,
/// or are empty.
struct ChartLine {
  std::vector<double> values, low = {}, high = {};
};
[[nodiscard]] std::string svg_line(const ChartFrame& frame, const ChartLine& line);

/// A line without axes, the smallest value below and the largest above; `name` says what it is.
/// Values that are not finite leave a gap.
[[nodiscard]] std::string svg_sparkline(std::string_view name, const std::vector<double>& values);

/// A horizontal bar beside a number that says the same: hidden from screen readers.
[[nodiscard]] std::string svg_share(double share);

/// A place between two ends, 0 to 1.
[[nodiscard]] std::string svg_scale(std::string_view name, double at);

/// Round numbers from 0 to at most `most`, in steps of 1, 2 or 5 times a power of ten, at most
/// `count` of them besides 0; of whole numbers only. Empty if `most` is below 1 or not finite.
[[nodiscard]] std::vector<double> round_ticks(double most, std::size_t count);

}  // namespace shale
