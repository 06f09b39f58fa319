#include "formats/parquet/parquet_words.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "shale/base/date_text.hpp"
#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::int64_t kSecondsOfDay = 86'400, kNanoseconds = 1'000'000'000;

// value - by * floor_divide(value, by), which may have no product in 64 bits.
std::int64_t floor_rest(std::int64_t value, std::int64_t by) {
  return value % by + (value % by < 0 ? by : 0);
}

std::string time_words(std::int64_t seconds, std::int64_t nanoseconds) {
  std::string words =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (nanoseconds == 0) return words;
  std::string fraction = fmt::format("{:09}", nanoseconds);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return words + "." + fraction;
}

std::int64_t units_of_second(ParquetUnit unit) {
  switch (unit) {
    case ParquetUnit::milliseconds:
      return 1'000;
    case ParquetUnit::microseconds:
      return 1'000'000;
    case ParquetUnit::nanoseconds:
      break;
  }
  return kNanoseconds;
}

std::string moment_words(std::int64_t count, ParquetUnit unit, bool is_utc) {
  const std::int64_t units = units_of_second(unit), seconds = floor_divide(count, units);
  const std::int64_t nanoseconds = floor_rest(count, units) * (kNanoseconds / units);
  const std::int64_t days = floor_divide(seconds, kSecondsOfDay);
  return date_of_days(days) + "T" + time_words(seconds - days * kSecondsOfDay, nanoseconds) +
         (is_utc ? "Z" : "");
}

// A two's complement number, big-endian, of any size.
std::string integer_words(std::vector<std::uint8_t> bytes) {
  const bool is_negative = !bytes.empty() && bytes[0] >= 0x80;
  if (is_negative) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(~byte);
    for (std::size_t i = bytes.size(); i > 0 && ++bytes[i - 1] == 0;) --i;
  }
  std::string digits;
  while (std::ranges::any_of(bytes, [](std::uint8_t byte) { return byte != 0; })) {
    unsigned rest = 0;
    for (std::uint8_t& byte : bytes) {
      const unsigned value = rest << 8 | byte;
      byte = static_cast<std::uint8_t>(value / 10);
      rest = value % 10;
    }
    digits.insert(digits.begin(), static_cast<char>('0' + rest));
  }
  if (digits.empty()) digits = "0";
  return is_negative ? "-" + digits : digits;
}

std::string decimal_words(Bytes value, bool is_number, std::int32_t scale) {
  constexpr std::size_t kMostBytes = 64;
  constexpr std::int32_t kMostScale = 200;
  if (value.size() > kMostBytes || scale < 0 || scale > kMostScale)
    throw Error(Code::unsupported, "decimal of {} bytes and scale {}", value.size(), scale);
  std::vector<std::uint8_t> bytes;
  for (const std::byte byte : value) bytes.push_back(static_cast<std::uint8_t>(byte));
  if (is_number) std::ranges::reverse(bytes);
  std::string digits = integer_words(std::move(bytes));
  if (scale == 0) return digits;
  const bool is_negative = digits[0] == '-';
  if (is_negative) digits.erase(0, 1);
  const auto behind = static_cast<std::size_t>(scale);
  if (digits.size() <= behind) digits.insert(0, behind + 1 - digits.size(), '0');
  digits.insert(digits.size() - behind, ".");
  return is_negative ? "-" + digits : digits;
}

std::int64_t number_of(Bytes value) {
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  if (value.size() == sizeof(wide)) {
    std::memcpy(&wide, value.data(), sizeof(wide));
    return wide;
  }
  if (value.size() != sizeof(narrow))
    throw Error(Code::damaged, "value of {} bytes, which is not a number", value.size());
  std::memcpy(&narrow, value.data(), sizeof(narrow));
  return narrow;
}

// Nanoseconds of the day, and the day by its Julian number.
std::string int96_words(Bytes value) {
  constexpr std::int64_t kJulianDayOf1970 = 2'440'588;
  const std::int64_t nanoseconds = number_of(value.first(8));
  std::uint32_t julian_day = 0;
  std::memcpy(&julian_day, value.data() + 8, sizeof(julian_day));
  const std::int64_t seconds = floor_divide(nanoseconds, kNanoseconds);
  const std::int64_t days = floor_divide(seconds, kSecondsOfDay);
  return date_of_days(static_cast<std::int64_t>(julian_day) - kJulianDayOf1970 + days) + "T" +
         time_words(seconds - days * kSecondsOfDay, floor_rest(nanoseconds, kNanoseconds));
}

std::string uuid_words(Bytes value) {
  std::string words;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) words += '-';
    words += fmt::format("{:02x}", static_cast<unsigned>(value[i]));
  }
  return words;
}

}  // namespace

bool has_words(const ParquetElement& column) {
  if (column.type == ParquetType::int96) return true;
  switch (column.annotation.meaning) {
    case ParquetMeaning::decimal:
      return column.type != ParquetType::boolean && column.type != ParquetType::float32 &&
             column.type != ParquetType::float64;
    case ParquetMeaning::date:
      return column.type == ParquetType::int32;
    case ParquetMeaning::time:
    case ParquetMeaning::timestamp:
      return column.type == ParquetType::int32 || column.type == ParquetType::int64;
    case ParquetMeaning::uuid:
      return column.type == ParquetType::fixed_bytes && column.type_length == 16;
    default:
      return false;
  }
}

std::string words_of(const ParquetElement& column, Bytes value) {
  const ParquetAnnotation& means = column.annotation;
  if (column.type == ParquetType::int96) return int96_words(value);
  switch (means.meaning) {
    case ParquetMeaning::decimal:
      return decimal_words(value,
                           column.type == ParquetType::int32 || column.type == ParquetType::int64,
                           means.scale);
    case ParquetMeaning::date:
      return date_of_days(number_of(value));
    case ParquetMeaning::time: {
      const std::int64_t units = units_of_second(means.unit), count = number_of(value);
      const std::int64_t seconds = floor_divide(count, units);
      return time_words(seconds, floor_rest(count, units) * (kNanoseconds / units));
    }
    case ParquetMeaning::timestamp:
      return moment_words(number_of(value), means.unit, means.is_utc);
    default:
      return uuid_words(value);
  }
}

}  // namespace shale
