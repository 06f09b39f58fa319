#include "shale/base/size_text.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

__extension__ typedef unsigned __int128 Wide;

struct Unit {
  std::string_view suffix;
  std::uint64_t bytes;
};
constexpr Unit kUnits[] = {
    {"", 1},
    {"B", 1},
    {"K", std::uint64_t{1} << 10},
    {"M", std::uint64_t{1} << 20},
    {"G", std::uint64_t{1} << 30},
    {"T", std::uint64_t{1} << 40},
    {"KiB", std::uint64_t{1} << 10},
    {"MiB", std::uint64_t{1} << 20},
    {"GiB", std::uint64_t{1} << 30},
    {"TiB", std::uint64_t{1} << 40},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
};
constexpr std::string_view kUnitsHint =
    "a size is a number and a unit: K M G T or KiB MiB GiB TiB (1024), kB MB GB TB (1000), B or "
    "none";

// 18 digits fit a u64, and times the largest unit they fit 100 bits.
constexpr std::size_t kMostFractionDigits = 18;

std::string_view take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// Nullopt for what does not fit 64 bits. `digits` holds nothing but digits, at least one.
std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

std::uint64_t unit_bytes(std::string_view suffix, std::string_view text, std::string_view what) {
  for (const Unit& unit : kUnits) {
    if (unit.suffix == suffix) return unit.bytes;
  }
  throw Error(Code::usage, "{}: '{}' has an unknown unit: '{}'", what, printable(text),
              printable(suffix))
      .hint(kUnitsHint);
}

// The bytes of 0.digits units.
std::uint64_t fraction_bytes(std::string_view digits, std::uint64_t unit, std::string_view text,
                             std::string_view what) {
  while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
  if (digits.empty()) return 0;
  Wide divisor = 1;
  for (std::size_t i = 0; i < digits.size() && i < kMostFractionDigits; ++i) divisor *= 10;
  const Wide dividend = Wide{number_of(digits.substr(0, kMostFractionDigits)).value()} * unit;
  if (digits.size() > kMostFractionDigits || dividend % divisor != 0) {
    throw Error(Code::usage, "{}: '{}' has a fraction of a byte", what, printable(text))
        .hint("use a smaller unit, or fewer digits after the point");
  }
  return static_cast<std::uint64_t>(dividend / divisor);
}

}  // namespace

std::uint64_t parse_size(std::string_view text, std::string_view what) {
  std::string_view rest = text, fraction;
  const std::string_view whole = take_digits(rest);
  bool is_number = !whole.empty();
  if (is_number && rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    is_number = !fraction.empty();
  }
  if (!is_number) {
    throw Error(Code::usage, "{}: '{}' is not a size", what, printable(text)).hint(kUnitsHint);
  }
  const std::uint64_t unit = unit_bytes(rest, text, what);
  const std::optional<std::uint64_t> units = number_of(whole);
  constexpr Wide kLimit = Wide{1} << 63;
  const Wide bytes =
      units ? Wide{*units} * unit + fraction_bytes(fraction, unit, text, what) : Wide{kLimit};
  if (bytes >= kLimit) {
    throw Error(Code::usage, "{}: '{}' is 2^63 bytes or more", what, printable(text));
  }
  return static_cast<std::uint64_t>(bytes);
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::string_view kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);  // exact divisions by 1024, the same on every machine
  std::size_t unit = 0;
  // From 1023.5 on three digits would round to "1024 KiB".
  for (; value >= 1023.5 && unit + 1 < std::size(kNames); ++unit) value /= 1024;
  std::string number = fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return fmt::format("{} {}", number, kNames[unit]);
}

std::string format_count(std::uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string format_counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : many);
}

std::uint64_t parse_count(std::string_view text, std::string_view what) {
  std::string_view rest = text;
  const std::string_view digits = take_digits(rest);
  if (digits.empty() || !rest.empty()) {
    throw Error(Code::usage, "{}: '{}' is not a whole number", what, printable(text));
  }
  const std::optional<std::uint64_t> count = number_of(digits);
  if (!count) {
    throw Error(Code::usage, "{}: {} is larger than {}, the largest number allowed", what, digits,
                ~std::uint64_t{0});
  }
  return *count;
}

}  // namespace shale
