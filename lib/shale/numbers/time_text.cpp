#include "shale/numbers/time_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "shale/base/date_text.hpp"

namespace shale {
namespace {

constexpr std::int64_t kSecondsOfDay = 86'400;
// Years and days within these are counted without overflow.
constexpr std::int64_t kMostDays = std::int64_t{1} << 45;

struct UnitOfSecond {
  std::string_view name;
  int digits = 0;              // of the fraction
  std::int64_t in_second = 1;  // 0: each is many seconds
  std::int64_t seconds = 1;
};
constexpr UnitOfSecond kUnits[] = {
    {"h", -2, 0, 3600},
    {"m", -1, 0, 60},
    {"s", 0, 1, 1},
    {"ms", 3, 1'000, 1},
    {"us", 6, 1'000'000, 1},
    {"ns", 9, 1'000'000'000, 1},
    {"ps", 12, 1'000'000'000'000, 1},
    {"fs", 15, 1'000'000'000'000'000, 1},
    {"as", 18, 1'000'000'000'000'000'000, 1},
};

std::string date_of_seconds(std::int64_t seconds, std::int64_t fraction, int digits) {
  const std::int64_t days = floor_divide(seconds, kSecondsOfDay);
  const std::int64_t of_day = seconds - days * kSecondsOfDay;
  std::string text = fmt::format("{}T{:02}", date_of_days(days), of_day / 3600);
  if (digits >= -1) text += fmt::format(":{:02}", of_day / 60 % 60);
  if (digits >= 0) text += fmt::format(":{:02}", of_day % 60);
  if (digits > 0) text += fmt::format(".{:0{}}", fraction, digits);
  return text;
}

std::optional<std::string> date_text(std::int64_t count, std::string_view unit) {
  const auto is_near = [](std::int64_t days) { return days >= -kMostDays && days <= kMostDays; };
  if ((unit == "Y" || unit == "M" || unit == "D" || unit == "W") && !is_near(count))
    return std::nullopt;
  if (unit == "Y") return fmt::format("{:04}", 1970 + count);
  if (unit == "M")
    return fmt::format("{:04}-{:02}", 1970 + floor_divide(count, 12),
                       count - 12 * floor_divide(count, 12) + 1);
  if (unit == "D") return date_of_days(count);
  if (unit == "W") return date_of_days(7 * count);
  const auto* found = std::ranges::find(kUnits, unit, &UnitOfSecond::name);
  if (found == std::end(kUnits)) return std::nullopt;
  if (found->in_second > 0) {
    const std::int64_t seconds = floor_divide(count, found->in_second);
    if (!is_near(floor_divide(seconds, kSecondsOfDay))) return std::nullopt;
    const std::int64_t rest = count % found->in_second;
    return date_of_seconds(seconds, rest < 0 ? rest + found->in_second : rest, found->digits);
  }
  if (!is_near(floor_divide(count, kSecondsOfDay / found->seconds))) return std::nullopt;
  return date_of_seconds(count * found->seconds, 0, found->digits);
}

}  // namespace

TimeUnit unit_of_type(std::string_view descr) {
  const std::size_t open = descr.find('['), close = descr.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close <= open) return {};
  std::string_view unit = descr.substr(open + 1, close - open - 1);
  TimeUnit found;
  const auto parsed = std::from_chars(unit.data(), unit.data() + unit.size(), found.multiple);
  if (parsed.ec != std::errc() || found.multiple < 1) found.multiple = 1;
  unit.remove_prefix(static_cast<std::size_t>(parsed.ptr - unit.data()));
  found.name = unit;
  return found;
}

std::string unit_of_times(std::string_view descr) {
  const TimeUnit unit = unit_of_type(descr);
  return unit.multiple == 1 ? std::string(unit.name)
                            : fmt::format("x {} {}", unit.multiple, unit.name);
}

std::string time_text(std::int64_t count, std::string_view descr) {
  if (count == kNotATime) return "NaT";
  const TimeUnit unit = unit_of_type(descr);
  const bool is_date = descr.size() > 1 && descr[1] == 'M';
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / unit.multiple;
  if (is_date && count >= -most && count <= most) {
    if (const auto text = date_text(count * unit.multiple, unit.name)) return *text;
  }
  const std::string name = unit_of_times(descr);
  return fmt::format("{}{}{}", count, name.empty() ? "" : " ", name);
}

std::string time_text(double count, std::string_view descr) {
  constexpr double kBound = 9223372036854775808.0;  // 2^63
  if (!(count > -kBound && count < kBound)) return fmt::format("{:.4g}", count);
  return time_text(static_cast<std::int64_t>(std::round(count)), descr);
}

}  // namespace shale
