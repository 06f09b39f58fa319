#include "shale/labels/label_kinds.hpp"

#include <charconv>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

// 2.0, 1e3, +5, 99999999999999999999: a number to whoever wrote it, but not an integer of 64 bits.
bool is_odd_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;
  return has_digit && error != std::errc::invalid_argument && end == text.data() + text.size();
}

// Digits alone, behind a sign or not.
bool is_long_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 18 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::int64_t> parse_integer_label(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_name_label(std::string_view text) {
  return !parse_integer_label(text) && !is_odd_number(text);
}

void LabelKinds::note(std::uint64_t row, std::string_view label) {
  First& first = parse_integer_label(label) ? integer_ : is_odd_number(label) ? odd_number_ : name_;
  if (first.row == 0) first = {row, std::string(label)};
}

void LabelKinds::refuse_mixed(const std::string& path, std::string_view row,
                              std::string hint) const {
  const First& number = integer_.row > 0 ? integer_ : odd_number_;
  if (number.row == 0 || are_numbers()) return;
  const First& other = odd_number_.row > 0 ? odd_number_ : name_;
  constexpr std::string_view kNames =
      "if these are class names, list all of them in a file for --classes-from";
  if (is_long_integer(other.text)) {
    throw Error(Code::bad_content, "{} {}: label '{}' does not fit into an integer of 64 bits", row,
                other.row, printable(other.text))
        .at(path)
        .hint(kNames);
  }
  const std::string fact = &number == &other
                               ? "is a number, but not an integer of 64 bits"
                               : fmt::format("is not an integer, but {} {} has the number {}", row,
                                             number.row, printable(number.text));
  if (hint.empty())
    hint = fmt::format("write integers without plus sign, point or exponent; {}", kNames);
  throw Error(Code::bad_content, "{} {}: label '{}' {}; labels are all integers or all names", row,
              other.row, printable(other.text), fact)
      .at(path)
      .hint(hint);
}

}  // namespace shale
