#include "shale/report/page_charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "shale/base/size_text.hpp"
#include "shale/numbers/time_text.hpp"

namespace shale {
namespace {

constexpr int kAbovePlot = 10;  // half a line of text
constexpr int kBelowPlot = 24;  // the axis and its text
constexpr int kPlotHeight = 160, kLowPlotHeight = 110;
constexpr double kLineUnits = 1000;
constexpr double kLargestWhole = 9007199254740992;  // 2^53

double within_chart(double value) { return std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0); }

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// A coordinate: at most two decimals, and none that says nothing.
std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string level_in_line(double value) {
  return coordinate(kLineUnits * (1 - within_chart(value)));
}

// A mark on an axis: 0 to 1 from the left or from below, and what stands there.
struct Tick {
  double at;
  std::string text;
};
struct Bar {
  double height;  // 0 to 1; what is above 0 is visible
  std::string text;
};

class Chart {
 public:
  Chart(std::string_view kind, std::string_view id, std::string_view title, std::string about,
        int plot_height = kPlotHeight)
      : plot_(plot_height) {
    const int bottom = kAbovePlot + plot_;
    json_ = {{"kind", kind},         {"id", id},
             {"title", title},       {"about", about},
             {"top", kAbovePlot},    {"plot", plot_},
             {"bottom", bottom},     {"tick", bottom + 4},
             {"below", bottom + 18}, {"height", bottom + kBelowPlot}};
  }

  void add_bars(const std::vector<Bar>& bars) {
    const double step = bars.empty() ? 1 : 1 / static_cast<double>(bars.size());
    const double gap = bars.size() > 120 ? 0.02 : 0.12;
    Json list = Json::array();
    for (const Bar& bar : bars) {
      const double share = within_chart(bar.height);
      const double tall = share > 0 ? std::max(1.5, plot_ * share) : 0;
      const auto before = static_cast<double>(list.size());
      list.push_back({{"x", percent_place((before + gap / 2) * step)},
                      {"y", coordinate(kAbovePlot + plot_ - tall)},
                      {"width", percent_place(step * (1 - gap))},
                      {"height", coordinate(tall)},
                      {"text", bar.text}});
    }
    json_["bars"] = std::move(list);
  }

  void add_ticks(const std::vector<Tick>& across, const std::vector<Tick>& up) {
    for (const Tick& tick : across)
      json_["across"].push_back({{"x", percent_place(tick.at)},
                                 {"anchor", tick.at <= 0.02   ? "start"
                                            : tick.at >= 0.98 ? "end"
                                                              : "middle"},
                                 {"text", tick.text}});
    for (const Tick& tick : up) {
      const double y = kAbovePlot + plot_ * (1 - within_chart(tick.at));
      json_["levels"].push_back(
          {{"y", coordinate(y)}, {"text_y", coordinate(y + 4)}, {"text", tick.text}});
    }
  }

  Json& json() { return json_; }

 private:
  int plot_;
  Json json_;
};

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
                        level_in_line(values[i]));
    is_drawing = true;
  }
  // One value is a line across.
  if (values.size() == 1 && is_drawing) path += fmt::format("H{}", coordinate(kLineUnits));
  return path;
}

// A step of its own for each value, so that a band of one value is visible, too.
std::string band_path(const std::vector<double>& low, const std::vector<double>& high) {
  std::string path;
  const auto x_of = [steps = static_cast<double>(low.size())](std::size_t i) {
    return coordinate(kLineUnits * static_cast<double>(i) / steps);
  };
  for (std::size_t i = 0; i < high.size(); ++i)
    path +=
        fmt::format("{}{} {}H{}", i == 0 ? "M" : "L", x_of(i), level_in_line(high[i]), x_of(i + 1));
  for (std::size_t i = low.size(); i > 0; --i)
    path += fmt::format("L{} {}H{}", x_of(i), level_in_line(low[i - 1]), x_of(i - 1));
  return path + "Z";
}

std::vector<Tick> count_ticks(std::uint64_t most) {
  std::vector<Tick> ticks;
  for (const double tick : round_ticks(static_cast<double>(most), 3)) {
    if (tick > 0)
      ticks.push_back(
          {tick / static_cast<double>(most), format_count(static_cast<std::uint64_t>(tick))});
  }
  return ticks;
}

// The values at the edges of bars in words.
class EdgeWords {
 public:
  EdgeWords(const Json& histogram, const HistogramWords& words)
      : unit_(histogram.value("unit", "")), times_(descr_of_times(words.dtype)) {}

  [[nodiscard]] std::string text(double value, bool has_unit = true) const {
    if (!times_.empty()) return time_text(value, times_);
    if (unit_ == "bytes" && value >= 0 && value < kLargestWhole)
      return format_size(static_cast<std::uint64_t>(value));
    const std::string number = number_text(value);
    return unit_.empty() || !has_unit ? number : fmt::format("{} {}", number, unit_);
  }
  [[nodiscard]] std::string range(const Json& bar) const {
    const double low = bar[0].get<double>(), high = bar[1].get<double>();
    return low == high ? text(low) : text(low) + " to " + text(high);
  }
  [[nodiscard]] bool are_long() const { return unit_ == "bytes" || !times_.empty(); }
  [[nodiscard]] const std::string& unit() const { return unit_; }

 private:
  std::string unit_, times_;
};

// Edges of bars in equal steps, about five of them (of sizes, whose text is longer, three), and the
// last: what is too near to it is left out, so that no two touch on a narrow screen.
std::vector<Tick> edge_ticks(const Json& bars, const EdgeWords& words) {
  const std::size_t count = bars.size();
  const std::size_t stride = words.are_long() ? (count + 2) / 3 : (count + 4) / 5;
  std::vector<Tick> ticks;
  ticks.reserve(count / stride + 2);
  for (std::size_t edge = 0; edge + (stride + 1) / 2 < count || edge == 0; edge += stride)
    ticks.push_back({static_cast<double>(edge) / static_cast<double>(count),
                     words.text(bars[edge][0].get<double>(), false)});
  ticks.push_back({1, words.text(bars.back()[1].get<double>(), false)});
  return ticks;
}

std::string class_words(const Json& one) {
  return one.contains("name")
             ? fmt::format("{} (label {})", one["name"].get<std::string>(), one["label"].dump())
             : fmt::format("label {}", one["label"].dump());
}

std::string counted_samples(const Json& one) {
  return format_counted(one["samples"].get<std::uint64_t>(), "sample", "samples");
}

}  // namespace

std::string percent_place(double share) { return coordinate(100 * within_chart(share)) + "%"; }

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == std::floor(value) && std::abs(value) < 1e7) {
    const std::string whole = format_count(static_cast<std::uint64_t>(std::abs(value)));
    return value < 0 ? "-" + whole : whole;
  }
  return fmt::format("{:.4g}", value);
}

std::string descr_of_times(std::string_view dtype) {
  constexpr std::array<std::array<std::string_view, 2>, 2> kNames = {
      {{"datetime64", "<M8"}, {"timedelta64", "<m8"}}};
  for (const auto& [name, descr] : kNames)
    if (dtype.starts_with(name)) return std::string(descr) + std::string(dtype.substr(name.size()));
  return {};
}

std::string value_words(const Json& value, std::string_view dtype) {
  const std::string times = descr_of_times(dtype);
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    return times.empty() ? number_text(number) : time_text(number, times);
  }
  if (!value.is_number()) return {};
  if (!times.empty()) return time_text(value.get<std::int64_t>(), times);
  const bool is_negative = !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
  const auto magnitude = value.get<std::uint64_t>();
  return is_negative ? "-" + format_count(0 - magnitude) : format_count(magnitude);
}

Json histogram_view(const Json& histogram, const HistogramWords& words) {
  if (!histogram.is_object() || histogram["bars"].empty()) return {};
  const Json& bars = histogram["bars"];
  const EdgeWords edges(histogram, words);
  const auto counted = [&](std::uint64_t count) {
    return format_counted(count, words.one, words.many);
  };
  if (bars.size() == 1) {
    const auto count = bars[0][2].get<std::uint64_t>();
    return {{"title", words.title},
            {"only", fmt::format("{}, {}{}", counted(count), count == 1 ? "" : "all of them ",
                                 edges.range(bars[0]))}};
  }
  std::uint64_t most = 0;
  const Json* tallest = &bars[0];
  for (const Json& bar : bars) {
    const auto count = bar[2].get<std::uint64_t>();
    if (count > most) tallest = &bar;
    most = std::max(most, count);
  }
  Chart chart("bars", words.id, words.title,
              fmt::format("{} from {} to {}; the highest, {}, has {}.",
                          format_counted(bars.size(), "bar", "bars"),
                          edges.text(bars.front()[0].get<double>()),
                          edges.text(bars.back()[1].get<double>()), edges.range(*tallest),
                          format_count(most)));
  std::vector<Bar> drawn;
  drawn.reserve(bars.size());
  Json ranges = Json::array();
  for (const Json& bar : bars) {
    const auto count = bar[2].get<std::uint64_t>();
    const std::string range = edges.range(bar);
    drawn.push_back({share_of(count, most), fmt::format("{}: {}", range, counted(count))});
    ranges.push_back({{"range", range}, {"count", count}});
  }
  chart.add_bars(drawn);
  chart.add_ticks(edge_ticks(bars, edges), count_ticks(most));
  std::string scale = edges.unit() == "bytes" ? "" : edges.unit();
  if (words.is_logarithmic) scale += scale.empty() ? "logarithmic" : ", logarithmic";
  chart.json().update({{"name", words.name},
                       {"what", words.many},
                       {"scale", scale},
                       {"ranges", std::move(ranges)}});
  return std::move(chart.json());
}

Json class_chart(const Json& classes) {
  const Json& all = classes["classes"];
  if (all.size() < 2) return {};
  std::uint64_t most = 1;
  for (const Json& one : all) most = std::max(most, one["samples"].get<std::uint64_t>());
  const std::string ends =
      classes.contains("largest")
          ? fmt::format("the largest is {} with {}, the smallest {} with {}",
                        class_words(classes["largest"]), counted_samples(classes["largest"]),
                        class_words(classes["smallest"]),
                        format_count(classes["smallest"]["samples"].get<std::uint64_t>()))
          : std::string("none has samples");
  Chart chart(
      "bars", "class-chart", "Samples per class, by label",
      fmt::format("{}; {}.",
                  format_counted(classes["count"].get<std::uint64_t>(), "class", "classes"), ends));
  std::vector<Bar> bars;
  bars.reserve(all.size());
  for (const Json& one : all)
    bars.push_back({share_of(one["samples"].get<std::uint64_t>(), most),
                    fmt::format("{}: {}", class_words(one), counted_samples(one))});
  chart.add_bars(bars);
  std::vector<Tick> across;
  for (const std::size_t at : {std::size_t{0}, all.size() / 2, all.size() - 1})
    if (across.empty() || all.size() > 2)
      across.push_back({(static_cast<double>(at) + 0.5) / static_cast<double>(all.size()),
                        fmt::format("label {}", all[at]["label"].dump())});
  chart.add_ticks(across, count_ticks(most));
  return std::move(chart.json());
}

Json shard_chart(const Json& shards) {
  const Json& all = shards["shards"];
  if (all.size() < 2) return {};
  const auto bytes_of = [](const Json& shard) { return shard["file_bytes"].get<std::uint64_t>(); };
  const std::uint64_t most = std::max<std::uint64_t>(1, bytes_of(shards["fullest"]));
  const auto count = shards["count"].get<std::uint64_t>();
  Chart chart("bars", "shard-chart",
              all.size() >= count ? "Bytes of each shard"
                                  : "Bytes of the first and the last hundred shards",
              fmt::format("{}; the largest has {}, the smallest {}.",
                          format_counted(count, "shard", "shards"),
                          format_size(bytes_of(shards["fullest"])),
                          format_size(bytes_of(shards["emptiest"]))),
              kLowPlotHeight);
  std::vector<Bar> bars;
  bars.reserve(all.size());
  for (const Json& shard : all)
    bars.push_back({share_of(bytes_of(shard), most),
                    fmt::format("{}: {}, {}", shard["name"].get<std::string>(),
                                format_size(bytes_of(shard)), counted_samples(shard))});
  chart.add_bars(bars);
  std::vector<Tick> up = {{1, format_size(most)}};
  const std::uint64_t bound = shards.value("bound_bytes", std::uint64_t{0});
  if (bound > 0 && bound < most) up.push_back({share_of(bound, most), format_size(bound)});
  chart.add_ticks(
      {{0, all.front()["name"].get<std::string>()}, {1, all.back()["name"].get<std::string>()}},
      up);
  return std::move(chart.json());
}

// The labels of runs between the smallest and the largest of all; the smallest is below.
Json order_chart(const Json& order) {
  const Json& runs = order["runs"];
  if (runs.empty()) return {};
  const auto label_of = [](const Json& run, std::size_t which) {
    return run[which].get<std::int64_t>();
  };
  std::int64_t least = label_of(runs[0], 1), most = label_of(runs[0], 3);
  for (const Json& run : runs) {
    least = std::min(least, label_of(run, 1));
    most = std::max(most, label_of(run, 3));
  }
  const double width = static_cast<double>(most) - static_cast<double>(least);
  std::array<std::vector<double>, 3> lines;  // least, median, most
  for (const Json& run : runs) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double label = static_cast<double>(label_of(run, i + 1));
      lines[i].push_back(width > 0 ? (label - static_cast<double>(least)) / width : 0.5);
    }
  }
  Chart chart("lines", "order-chart", "Labels from the first row to the last",
              fmt::format("For {} of rows, the range of its labels and their median. Labels are {} "
                          "to {}.",
                          runs.size() == 1 ? std::string("one run")
                                           : fmt::format("each of {} equal runs", runs.size()),
                          least, most));
  std::vector<Tick> up;
  if (width > 0) up = {{0, fmt::format("label {}", least)}, {1, fmt::format("label {}", most)}};
  chart.add_ticks({{0, "first row"}, {1, "last row"}}, up);
  chart.json()["line"] = {{"band", band_path(lines[0], lines[2])}, {"median", path_of(lines[1])}};
  return std::move(chart.json());
}

std::string sparkline_path(const std::vector<double>& values) {
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
  return path_of(shares);
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
