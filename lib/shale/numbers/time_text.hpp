#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace shale {

/// NumPy's NaT.
inline constexpr std::int64_t kNotATime = std::numeric_limits<std::int64_t>::min();

/// A count of a datetime64 or timedelta64 in words. `descr` is NumPy's name of the type. Dates as
/// numpy.datetime_as_string writes them: "2026-11-25", "2026-11-25T18:00:00.500"; spans of time
/// with their unit: "90 s", "3 D". "NaT" for none; dates that are too far away (beyond some 10^11
/// years) as their count and unit, and so are those without a unit.
[[nodiscard]] std::string time_text(std::int64_t count, std::string_view descr);

/// What one count of a datetime64 or timedelta64 is: 25 of "us".
struct TimeUnit {
  std::int64_t multiple = 1;
  std::string_view name;  ///< part of the type's; empty where it has no unit
};
/// Of "<M8[25us]".
[[nodiscard]] TimeUnit unit_of_type(std::string_view descr);

/// "ns", "x 25 s"; empty where the type has no unit.
[[nodiscard]] std::string unit_of_times(std::string_view descr);
/// Of a mean, or an edge of a histogram: rounded to a whole count.
[[nodiscard]] std::string time_text(double count, std::string_view descr);

}  // namespace shale
