#pragma once

#include <cstdint>
#include <string>

namespace shale {

/// value / divisor, rounded down; the divisor is positive.
[[nodiscard]] std::int64_t floor_divide(std::int64_t value, std::int64_t divisor);

/// "2026-11-29" of a count of days since 1970-01-01, in the proleptic Gregorian calendar.
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
[[nodiscard]] std::string date_of_days(std::int64_t days);

}  // namespace shale
