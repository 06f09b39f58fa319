#include "shale/labels/label_kinds.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

// 2.0, 1e3, +5, 99999999999999999999: a number to whoever wrote it, but not an integer of 64 bits.
bool is_odd_number(std::string_view text) {
  if (real_number_in(text)) return true;
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

// 1e400.
bool is_beyond_reals(std::string_view text) {
  return text.find_first_of(".eE") != std::string_view::npos && is_odd_number(text) &&
         !real_number_in(text);
}

// What lies beyond doubles is then nearer to 0 than any of them.
bool has_negative_exponent(std::string_view number) {
  const std::size_t exponent = number.find_first_of("eE");
  return exponent != std::string_view::npos && number.substr(exponent + 1).starts_with('-');
}

constexpr std::size_t kMostComparedLabels = 16'384;

}  // namespace

std::optional<std::int64_t> parse_integer_label(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::string> real_number_in(std::string_view text) {
  std::string number(text.starts_with('+') ? text.substr(1) : text);
  if (number.find_first_of(".,eE") == std::string::npos) return std::nullopt;
  // As a spreadsheet writes it where the point is a comma.
  if (const std::size_t comma = number.find(','); comma != std::string::npos) number[comma] = '.';
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end != number.data() + number.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range && has_negative_exponent(number)) return "0.0";
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  std::string written = fmt::format("{}", value);
  if (written.find_first_of(".e") == std::string::npos) written += ".0";
  return written;
}

bool is_name_label(std::string_view text) {
  return !parse_integer_label(text) && !is_odd_number(text);
}

void LabelKinds::note(std::uint64_t row, std::string_view label) {
  const std::optional<std::int64_t> integer = parse_integer_label(label);
  First& first = integer ? integer_ : is_odd_number(label) ? odd_number_ : name_;
  if (first.row == 0 || row < first.row) first = {row, std::string(label)};
  const bool is_beyond = is_beyond_reals(label);
  if (is_beyond && !is_beyond_reals(odd_number_.text)) odd_number_ = {row, std::string(label)};
  has_long_ = has_long_ || is_beyond || is_long_integer(label);
  if (&first == &odd_number_ && real_.row == 0 && real_number_in(label))
    real_ = {row, std::string(label)};
  if (!integer) return;
  if (padded_.row == 0 && label.size() > 1 && label.starts_with('0'))
    padded_ = {row, std::string(label)};
  const auto form = forms_.find(*integer);
  if (form == forms_.end()) {
    if (forms_.size() < kMostComparedLabels) forms_[*integer] = {row, std::string(label)};
  } else if (two_forms_.row == 0 && form->second.text != label) {
    one_form_ = form->second;
    two_forms_ = {row, std::string(label)};
  }
}

void LabelKinds::refuse_two_forms(const std::string& path, std::string_view row) const {
  if (two_forms_.row == 0) return;
  throw Error(Code::bad_content,
              "{} {}: label '{}' is the same integer as '{}' in {} {}: both would be one label",
              row, two_forms_.row, two_forms_.text, one_form_.text, row, one_form_.row)
      .at(path)
      .hint(
          "write each label in one way; if they are class names, list all of them in a file for "
          "--classes-from");
}

std::string LabelKinds::note_on_zeros(const std::string& path) const {
  if (padded_.row == 0 || !are_numbers()) return {};
  return fmt::format(
      "labels in {} are read as numbers, '{}' as {}: the zeros in front are lost; list the labels "
      "in a file for --classes-from to take them as class names",
      printable(path), padded_.text, parse_integer_label(padded_.text).value_or(0));
}

void LabelKinds::refuse_mixed(const std::string& path, std::string_view row,
                              std::string hint) const {
  const First& number = integer_.row > 0 ? integer_ : odd_number_;
  if (number.row == 0 || are_numbers()) return;
  if (real_.row > 0 && !has_long_ && name_.row > 0) {
    if (hint.empty()) hint = "correct the label, or remove the row together with its image";
    throw Error(Code::bad_content,
                "{} {}: label '{}' is not a number, but {} {} has the number {}; labels are all "
                "numbers or all names",
                row, name_.row, printable(name_.text), row, real_.row, real_.text)
        .at(path)
        .hint(hint);
  }
  const First& other = odd_number_.row > 0 ? odd_number_ : name_;
  constexpr std::string_view kNames =
      "if these are class names, list all of them in a file for --classes-from";
  const bool is_beyond = is_beyond_reals(other.text);
  if (is_beyond || is_long_integer(other.text)) {
    throw Error(Code::bad_content, "{} {}: label '{}' does not fit into {} of 64 bits", row,
                other.row, printable(other.text), is_beyond ? "a real number" : "an integer")
        .at(path)
        .hint(is_beyond ? "correct the label, or remove the row together with its image" : kNames);
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
