#include "shale/base/natural_order.hpp"

#include <algorithm>
#include <charconv>

namespace shale {
namespace {

constexpr std::size_t kMostDigits = 18;

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// The run of digits that begins at `at`, without the zeros before it; `at` is then behind it.
std::string_view take_number(std::string_view text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_decimal(text[at])) ++at;
  return text.substr(begin, at - begin);
}

}  // namespace

bool is_naturally_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_decimal(a[i]) && is_decimal(b[j])) {
      const std::string_view one = take_number(a, i), other = take_number(b, j);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
      continue;
    }
    if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    ++i;
    ++j;
  }
  if (a.size() - i != b.size() - j) return i == a.size();
  return a < b;
}

std::optional<std::uint64_t> number_of_name(std::string_view name) {
  if (name.empty() || name.size() > kMostDigits || !std::ranges::all_of(name, is_decimal))
    return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

std::optional<std::uint64_t> number_in_name(std::string_view name) {
  name = name.substr(0, name.rfind('.'));
  const auto end = std::find_if(name.rbegin(), name.rend(), is_decimal).base();
  auto begin = end;
  while (begin != name.begin() && is_decimal(*(begin - 1))) --begin;
  if (begin == end || end - begin > static_cast<std::ptrdiff_t>(kMostDigits)) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(&*begin, &*begin + (end - begin), number);
  return number;
}

}  // namespace shale
