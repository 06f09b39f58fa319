#include "shale/data/dtype.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

struct NumberType {
  char letter;
  std::string_view sizes;  // the digits allowed after it, each between blanks
};
constexpr NumberType kNumbers[] = {
    {'b', " 1 "}, {'i', " 1 2 4 8 "}, {'u', " 1 2 4 8 "}, {'f', " 2 4 8 16 "}, {'c', " 8 16 32 "},
};
constexpr std::string_view kTimeUnits = " Y M W D h m s ms us ns ps fs as ";

// NumPy keeps the size of an element in an int.
constexpr std::uint64_t kMostItemBytes = 0x7FFFFFFF;

bool is_listed(std::string_view list, std::string_view word) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

// A number from 1 to kMostItemBytes as NumPy prints it, without leading zeros.
std::optional<std::uint64_t> parse_width(std::string_view digits) {
  std::uint64_t width = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), width);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  if (!is_whole || digits.front() == '0' || width > kMostItemBytes) return std::nullopt;
  return width;
}

// "", "[ns]" or "[25s]".
bool is_time_unit(std::string_view unit) {
  if (unit.empty()) return true;
  if (!unit.starts_with('[') || !unit.ends_with(']')) return false;
  unit = unit.substr(1, unit.size() - 2);
  const std::size_t digits = std::min(unit.find_first_not_of("0123456789"), unit.size());
  if (digits > 0 && !parse_width(unit.substr(0, digits))) return false;
  return is_listed(kTimeUnits, unit.substr(digits));
}

// The bytes of an element whose dtype is `letter` and then `width`; nullopt for what is no such
// dtype.
std::optional<std::uint64_t> bytes_of_item(char letter, std::string_view width) {
  for (const NumberType& number : kNumbers) {
    if (number.letter == letter)
      return is_listed(number.sizes, width) ? parse_width(width) : std::nullopt;
  }
  if (letter == 'M' || letter == 'm') {
    const bool is_time = width.starts_with('8') && is_time_unit(width.substr(1));
    return is_time ? std::optional<std::uint64_t>(8) : std::nullopt;
  }
  const std::optional<std::uint64_t> count = parse_width(width);
  if (letter == 'S' || letter == 'V') return count;
  if (letter != 'U' || !count || *count > kMostItemBytes / 4) return std::nullopt;
  return *count * 4;  // UCS-4
}

}  // namespace

DType DType::parse(std::string_view descr) {
  const char order = descr.empty() ? '\0' : descr[0];
  std::optional<std::uint64_t> bytes;
  if (descr.size() > 2 && (order == '<' || order == '|' || order == '>')) {
    bytes = bytes_of_item(descr[1], descr.substr(2));
  }
  if (!bytes) {
    throw Error(Code::unsupported, "dtype '{}' is not one of fixed size that shale knows",
                printable(descr))
        .hint("convert the array with .astype() to a plain NumPy dtype, such as uint8 or float32");
  }
  // Without byte order: NumPy prints '|', others '<' or '>' (ml_dtypes has '<V2'), and all mean the
  // same.
  const bool is_byteless = descr[1] == 'S' || descr[1] == 'V' || *bytes == 1;
  if (order == '>' && !is_byteless) {
    throw Error(Code::unsupported, "dtype '{}' is big-endian", printable(descr))
        .hint("convert the array with .astype(dtype.newbyteorder('<'))");
  }
  if (order == '|' && !is_byteless) {
    throw Error(Code::unsupported, "dtype '{}' does not say its byte order", printable(descr));
  }
  DType dtype;
  dtype.descr_ = (is_byteless ? "|" : "<") + std::string(descr.substr(1));
  dtype.item_bytes_ = *bytes;
  return dtype;
}

}  // namespace shale
