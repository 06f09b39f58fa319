#include "shale/report/svg_chart.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "shale/report/html_text.hpp"

namespace shale {
namespace {

constexpr int kAbovePlot = 10;  // half a line of text
constexpr int kBelowPlot = 24;  // the axis and its text
constexpr double kLineUnits = 1000;

double within_chart(double value) { return std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0); }

// A coordinate: at most two decimals, and none that says nothing.
std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string percent(double share) { return coordinate(100 * within_chart(share)) + "%"; }

std::string opening(const ChartFrame& frame, std::string_view of_kind) {
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" class="chart {}" role="img" )"
                     R"(aria-labelledby="{}-title {}-about" width="100%" height="{}">)"
                     R"(<title id="{}-title">{}</title><desc id="{}-about">{}</desc>)"
                     "\n",
                     of_kind, frame.id, frame.id, frame.height + kAbovePlot + kBelowPlot, frame.id,
                     html_words(frame.title), frame.id, html_words(frame.description));
}

double y_of(const ChartFrame& frame, double value) {
  return kAbovePlot + frame.height * (1 - within_chart(value));
}

// Lines at the marks of the vertical axis, their text above them at the left.
std::string grid(const ChartFrame& frame) {
  std::string svg;
  for (const ChartTick& tick : frame.up) {
    const std::string y = coordinate(y_of(frame, tick.at));
    svg += fmt::format(R"(<line class="grid" x1="0" x2="100%" y1="{}" y2="{}"/>)", y, y);
  }
  return svg;
}

// Left of the plot, where the style sheet leaves room for it.
std::string grid_text(const ChartFrame& frame) {
  std::string svg;
  for (const ChartTick& tick : frame.up)
    svg += fmt::format(R"(<text x="-8" y="{}" text-anchor="end">{}</text>)",
                       coordinate(y_of(frame, tick.at) + 4), html_words(tick.text));
  return svg;
}

std::string axis(const ChartFrame& frame) {
  const int bottom = kAbovePlot + frame.height;
  std::string svg =
      fmt::format(R"(<line class="axis" x1="0" x2="100%" y1="{0}" y2="{0}"/>)", bottom);
  for (const ChartTick& tick : frame.across) {
    const std::string_view anchor = tick.at <= 0.02 ? "start" : tick.at >= 0.98 ? "end" : "middle";
    svg += fmt::format(R"(<line class="axis" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>)",
                       percent(tick.at), bottom, bottom + 4);
    svg += fmt::format(R"(<text x="{}" y="{}" text-anchor="{}">{}</text>)", percent(tick.at),
                       bottom + 18, anchor, html_words(tick.text));
  }
  return svg;
}

// Points in a box of 1000 x 1000 that is stretched to the plot; a gap begins a new piece.
std::string path_of(const std::vector<double>& values) {
  std::string path;
  const double steps = values.size() > 1 ? static_cast<double>(values.size() - 1) : 1;
  bool is_drawing = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      is_drawing = false;
      continue;
    }
    path += fmt::format("{}{} {}", is_drawing ? "L" : "M",
                        coordinate(kLineUnits * static_cast<double>(i) / steps),
                        coordinate(kLineUnits * (1 - within_chart(values[i]))));
    is_drawing = true;
  }
  // One value is a line across.
  if (values.size() == 1 && is_drawing) path += fmt::format("H{}", coordinate(kLineUnits));
  return path;
}

std::string stretched(std::string_view content, int y, int height) {
  return fmt::format(R"(<svg x="0" y="{}" width="100%" height="{}" viewBox="0 0 1000 1000" )"
                     R"(preserveAspectRatio="none">{}</svg>)",
                     y, height, content);
}

std::string band_of(const ChartLine& line) {
  if (line.low.empty() || line.low.size() != line.high.size()) return {};
  std::string path;
  const double steps = std::max<double>(1, static_cast<double>(line.low.size()));
  // A step of its own for each value, so that a band of one value is visible, too.
  const auto x_of = [&](std::size_t i) {
    return coordinate(kLineUnits * static_cast<double>(i) / steps);
  };
  const auto level = [&](double value) {
    return coordinate(kLineUnits * (1 - within_chart(value)));
  };
  for (std::size_t i = 0; i < line.high.size(); ++i)
    path +=
        fmt::format("{}{} {}H{}", i == 0 ? "M" : "L", x_of(i), level(line.high[i]), x_of(i + 1));
  for (std::size_t i = line.low.size(); i > 0; --i)
    path += fmt::format("L{} {}H{}", x_of(i), level(line.low[i - 1]), x_of(i - 1));
  return fmt::format(R"(<path class="band" d="{}Z"/>)", path);
}

}  // namespace

std::string svg_bars(const ChartFrame& frame, const std::vector<ChartBar>& bars) {
  std::string svg =
      opening(frame, frame.up.empty() ? "bars" : "bars with-axis") + grid(frame) + "\n";
  const double step = bars.empty() ? 1 : 1 / static_cast<double>(bars.size());
  const double gap = bars.size() > 120 ? 0.02 : 0.12;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double share = within_chart(bars[i].height);
    const double tall = share > 0 ? std::max(1.5, frame.height * share) : 0;
    svg += fmt::format(
        R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>)"
        "\n",
        bars[i].is_on ? "bar on" : "bar", percent((static_cast<double>(i) + gap / 2) * step),
        coordinate(kAbovePlot + frame.height - tall), percent(step * (1 - gap)), coordinate(tall),
        html_words(bars[i].text));
  }
  return svg + axis(frame) + grid_text(frame) + "</svg>\n";
}

std::string svg_line(const ChartFrame& frame, const ChartLine& line) {
  std::string plot = band_of(line);
  if (!line.values.empty())
    plot += fmt::format(R"(<path class="line" vector-effect="non-scaling-stroke" d="{}"/>)",
                        path_of(line.values));
  return opening(frame, frame.up.empty() ? "lines" : "lines with-axis") + grid(frame) +
         stretched(plot, kAbovePlot, frame.height) + axis(frame) + grid_text(frame) + "</svg>\n";
}

std::string svg_sparkline(std::string_view name, const std::vector<double>& values) {
  constexpr int kHeight = 44;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::vector<double> shares;
  shares.reserve(values.size());
  for (const double value : values) {
    // Halves first: the difference of two doubles may be more than a double holds.
    const double width = most / 2 - least / 2;
    const double share = width > 0 ? (value / 2 - least / 2) / width : 0.5;
    shares.push_back(std::isfinite(value) ? 0.04 + 0.92 * share
                                          : std::numeric_limits<double>::quiet_NaN());
  }
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="sparkline" role="img" )"
      R"(aria-label="{}" width="100%" height="{}">{}</svg>)",
      html_words(name), kHeight,
      stretched(fmt::format(R"(<path class="line" vector-effect="non-scaling-stroke" d="{}"/>)",
                            path_of(shares)),
                0, kHeight));
}

std::string svg_share(double share) {
  const double drawn = within_chart(share);
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="share" aria-hidden="true" )"
      R"(width="100%" height="10"><rect class="track" width="100%" height="10" rx="2"/>)"
      R"(<rect class="bar" width="{}" height="10" rx="2"/></svg>)",
      percent(drawn > 0 ? std::max(drawn, 0.004) : 0));
}

std::string svg_scale(std::string_view name, double at) {
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" class="scale" role="img" )"
                     R"(aria-label="{}" width="100%" height="20">)"
                     R"(<rect class="track" y="6" width="100%" height="8" rx="4"/>)"
                     R"(<rect class="bar" y="6" width="{}" height="8" rx="4"/>)"
                     R"(<circle class="knob" cx="{}" cy="10" r="7"/></svg>)",
                     html_words(name), percent(at), percent(0.02 + 0.96 * within_chart(at)));
}

std::vector<double> round_ticks(double most, std::size_t count) {
  std::vector<double> ticks;
  if (!std::isfinite(most) || most < 1 || count == 0) return ticks;
  double step = 1;
  const double factors[] = {2, 2.5, 2};  // 1, 2, 5, 10, 20 ...
  for (std::size_t i = 0; std::floor(most / step) > static_cast<double>(count); ++i)
    step *= factors[i % std::size(factors)];
  const auto steps = static_cast<std::size_t>(std::floor(most / step));
  ticks.reserve(steps + 1);
  for (std::size_t i = 0; i <= steps; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

}  // namespace shale
