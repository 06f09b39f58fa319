#include "shale/report/page_parts.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "shale/base/size_text.hpp"
#include "shale/report/html_text.hpp"
#include "shale/report/svg_chart.hpp"
#include "shale/report/time_text.hpp"

namespace shale {
namespace {

constexpr double kLargestWhole = 9007199254740992;  // 2^53

std::uint64_t most_of(const Histogram& histogram) {
  std::uint64_t most = 0;
  for (const HistogramBar& bar : histogram.bars) most = std::max(most, bar.count);
  return most;
}

std::string edge_text(const Histogram& histogram, double value) {
  return histogram.times.empty() ? value_text(value, histogram.unit)
                                 : time_text(value, histogram.times);
}

std::string range_text(const Histogram& histogram, const HistogramBar& bar) {
  if (bar.low == bar.high) return edge_text(histogram, bar.low);
  return edge_text(histogram, bar.low) + " to " + edge_text(histogram, bar.high);
}

// Edges of bars in equal steps, about five of them (of sizes, whose text is longer, three), and the
// last: what is too near to it is left out, so that no two touch on a narrow screen.
std::vector<ChartTick> edge_ticks(const Histogram& histogram) {
  const std::size_t count = histogram.bars.size();
  const std::string_view unit = histogram.unit == "bytes" ? "bytes" : "";
  const bool is_long = !unit.empty() || !histogram.times.empty();
  const std::size_t stride = is_long ? (count + 2) / 3 : (count + 4) / 5;
  const auto text_of_edge = [&](double value) {
    return histogram.times.empty() ? value_text(value, unit) : time_text(value, histogram.times);
  };
  std::vector<ChartTick> ticks;
  ticks.reserve(count / stride + 2);
  for (std::size_t edge = 0; edge + (stride + 1) / 2 < count || edge == 0; edge += stride)
    ticks.push_back({static_cast<double>(edge) / static_cast<double>(count),
                     text_of_edge(histogram.bars[edge].low)});
  ticks.push_back({1, text_of_edge(histogram.bars.back().high)});
  return ticks;
}

std::vector<ChartTick> count_ticks(std::uint64_t most) {
  std::vector<ChartTick> ticks;
  for (const double tick : round_ticks(static_cast<double>(most), 3)) {
    if (tick > 0)
      ticks.push_back(
          {tick / static_cast<double>(most), format_count(static_cast<std::uint64_t>(tick))});
  }
  return ticks;
}

std::string histogram_table(const Histogram& histogram, std::string_view what) {
  std::string rows;
  for (const HistogramBar& bar : histogram.bars)
    rows += fmt::format(R"(<tr><th scope="row">{}</th><td class="number">{}</td></tr>)"
                        "\n",
                        html_words(range_text(histogram, bar)), format_count(bar.count));
  return fmt::format(R"(<table><thead><tr><th scope="col">{}</th><th scope="col" class="number">)"
                     "{}</th></tr></thead><tbody>\n{}</tbody></table>",
                     html_words(histogram.name.empty() ? "range" : histogram.name),
                     html_words(what), rows);
}

std::string_view one_of(std::string_view many) {
  const std::size_t ending = many.ends_with("sses") ? 2 : many.ends_with('s') ? 1 : 0;
  return many.substr(0, many.size() - ending);
}

// "1 image", "2 images", "1 class".
std::string counted_words(std::uint64_t count, std::string_view many) {
  return format_counted(count, one_of(many), many);
}

std::string_view word_of_level(std::string_view level) {
  if (level == "good") return "Good";
  if (level == "warn") return "Check";
  if (level == "bad") return "Damaged";
  return "Note";
}

}  // namespace

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == std::floor(value) && std::abs(value) < 1e7 && std::abs(value) < kLargestWhole) {
    const std::string whole = format_count(static_cast<std::uint64_t>(std::abs(value)));
    return value < 0 ? "-" + whole : whole;
  }
  return fmt::format("{:.4g}", value);
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0 %";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && percent < 0.1) return "&lt; 0.1 %";
  return fmt::format("{:.1f} %", percent);
}

std::string value_text(double value, std::string_view unit) {
  if (unit == "bytes" && value >= 0 && value < kLargestWhole)
    return format_size(static_cast<std::uint64_t>(value));
  const std::string number = number_text(value);
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

std::string sentence_of(std::string_view words) {
  std::string sentence(words);
  if (!sentence.empty() && sentence.front() >= 'a' && sentence.front() <= 'z')
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  return sentence;
}

std::string scope_words(const SampledFrom& from, std::string_view what) {
  if (from.is_all() && from.of == 1) return fmt::format("the only {}", one_of(what));
  if (from.is_all()) return fmt::format("all {}", counted_words(from.of, what));
  return fmt::format("{} of {}", format_count(from.looked_at), counted_words(from.of, what));
}

std::string scope_note(const SampledFrom& from, std::string_view what) {
  if (from.looked_at == 0) return {};
  return fmt::format(R"(<p class="scope">From {}.</p>)"
                     "\n",
                     html_words(scope_words(from, what)));
}

std::string fact_list(const std::vector<FactRow>& rows, std::string_view css_class) {
  std::string list;
  for (const auto& [name, value] : rows) {
    if (!value.empty()) list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  }
  return list.empty() ? list
                      : fmt::format(R"(<dl class="{}">)"
                                    "\n{}</dl>\n",
                                    css_class, list);
}

std::string histogram_figure(std::string_view id, std::string_view title,
                             const Histogram& histogram, std::string_view what) {
  if (histogram.bars.empty()) return {};
  // One bar would be a rectangle that says nothing.
  if (histogram.bars.size() == 1) {
    const HistogramBar& only = histogram.bars.front();
    return fmt::format("<p><strong>{}</strong>: {}, {}{}</p>\n", html_words(title),
                       html_words(counted_words(only.count, what)),
                       only.count == 1 ? "" : "all of them ",
                       html_words(range_text(histogram, only)));
  }
  const std::uint64_t most = most_of(histogram);
  std::vector<ChartBar> bars;
  bars.reserve(histogram.bars.size());
  const HistogramBar* tallest = &histogram.bars.front();
  for (const HistogramBar& bar : histogram.bars) {
    if (bar.count > tallest->count) tallest = &bar;
    bars.push_back(
        {static_cast<double>(bar.count) / static_cast<double>(std::max<std::uint64_t>(most, 1)),
         fmt::format("{}: {}", range_text(histogram, bar), counted_words(bar.count, what))});
  }
  ChartFrame frame = {
      std::string(id), std::string(title),
      fmt::format("{} from {} to {}; the highest, {}, has {}.",
                  format_counted(bars.size(), "bar", "bars"),
                  edge_text(histogram, histogram.bars.front().low),
                  edge_text(histogram, histogram.bars.back().high), range_text(histogram, *tallest),
                  format_count(tallest->count), what),
      edge_ticks(histogram), count_ticks(most)};
  std::string about = histogram.unit == "bytes" ? "" : histogram.unit;
  if (histogram.is_logarithmic) about += about.empty() ? "logarithmic" : ", logarithmic";
  const std::string caption =
      fmt::format(R"({} <span class="quiet">{}</span>)", html_words(title), html_words(about));
  return fmt::format(R"(<figure class="plot"><figcaption>{}</figcaption>)"
                     "\n{}{}</figure>\n",
                     caption, svg_bars(frame, bars),
                     details_of("Numbers", scroll_box(fmt::format("Numbers: {}", title),
                                                      histogram_table(histogram, what))));
}

std::string count_table(std::string_view caption, std::string_view name_head,
                        std::string_view count_head, const std::vector<NamedCount>& counts) {
  if (counts.empty()) return {};
  std::uint64_t most = 1;
  for (const NamedCount& each : counts) most = std::max(most, each.count);
  std::string rows;
  for (const NamedCount& each : counts)
    rows +=
        fmt::format(R"(<tr><th scope="row">{}</th><td class="number">{}</td><td class="bar-cell">)"
                    "{}</td></tr>\n",
                    html_name(each.name), format_count(each.count),
                    svg_share(static_cast<double>(each.count) / static_cast<double>(most)));
  return fmt::format(
      R"(<table class="counts"><caption>{}</caption><thead><tr><th scope="col">{}</th>)"
      R"(<th scope="col" class="number">{}</th><td></td></tr></thead><tbody>)"
      "\n{}</tbody></table>\n",
      html_words(caption), html_words(name_head), html_words(count_head), rows);
}

std::string details_of(std::string_view summary, std::string_view content) {
  return fmt::format("<details><summary>{}</summary>\n{}\n</details>\n", summary, content);
}

std::string scroll_box(std::string_view label, std::string_view content) {
  return fmt::format(R"(<div class="scroll" role="region" tabindex="0" aria-label="{}">)"
                     "\n{}\n</div>\n",
                     html_words(label), content);
}

std::string message_box(std::string_view level, std::string_view content) {
  return fmt::format(R"(<p class="message {}"><strong>{}</strong> <span>{}</span></p>)"
                     "\n",
                     level, word_of_level(level), content);
}

}  // namespace shale
