#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/report/report_json.hpp"

// Where the bars, lines and words of a chart are: what templates/chart.mustache draws. Places
// across are percentages and those down are pixels. Whatever numbers come in, no place is NaN,
// infinite or outside of the chart.

namespace shale {

/// What a histogram is called, and what it counts: "1 image", "2 images".
struct HistogramWords {
  std::string id, title, name, one, many;
  std::string dtype = {};  ///< of times, whose edges are dates then
  bool is_logarithmic = false;
};
/// For templates/histogram.mustache; null without bars.
[[nodiscard]] Json histogram_view(const Json& histogram, const HistogramWords& words);
/// Of the facts of that name; null where there is nothing to draw.
[[nodiscard]] Json class_chart(const Json& classes);
[[nodiscard]] Json shard_chart(const Json& shards);
[[nodiscard]] Json order_chart(const Json& order);

/// The path of a line without axes, the smallest value below and the largest above, in a box of
/// 1000 x 1000. NaN leaves a gap.
[[nodiscard]] std::string sparkline_path(const std::vector<double>& values);

/// A place of 0 to 1 as a percentage: "12.5%".
[[nodiscard]] std::string percent_place(double share);

/// A real number for people: four significant digits, "-0.0125", "1.5e+09", "nan".
[[nodiscard]] std::string number_text(double value);
/// A value of a field, whose type NumPy calls `dtype`: integers exactly, times as dates.
[[nodiscard]] std::string value_words(const Json& value, std::string_view dtype);
/// NumPy's short name of a type of times, "<M8[us]" for "datetime64[us]"; empty for other types.
[[nodiscard]] std::string descr_of_times(std::string_view dtype);

/// Round numbers from 0 to at most `most`, in steps of 1, 2 or 5 times a power of ten, at most
/// `count` of them besides 0; of whole numbers only. Empty if `most` is below 1 or not finite.
[[nodiscard]] std::vector<double> round_ticks(double most, std::size_t count);

}  // namespace shale
