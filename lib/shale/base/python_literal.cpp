#include "shale/base/python_literal.hpp"

#include <algorithm>
#include <limits>

#include "shale/base/printable.hpp"

namespace shale {
namespace {

// What str.isprintable() denies: separators but the space, format and control characters, private
// use; without the unassigned. From CPython's unicodedata, Unicode 14.0.
struct CodeRange {
  char32_t first, last;
};
constexpr CodeRange kUnprintable[] = {
    {0x0, 0x1f},        {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x2064},   {0x2066, 0x206f},   {0x3000, 0x3000},
    {0xe000, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x13438}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0xffffd}, {0x100000, 0x10fffd}};

bool is_unprintable(char32_t c) {
  const CodeRange* range = std::lower_bound(
      std::begin(kUnprintable), std::end(kUnprintable), c,
      [](const CodeRange& before, char32_t wanted) { return before.last < wanted; });
  return range != std::end(kUnprintable) && range->first <= c;
}

// The code point that begins at `utf8`, which is well-formed, and its length.
std::pair<char32_t, std::size_t> first_code_point(std::string_view utf8) {
  const auto lead = static_cast<std::uint8_t>(utf8[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t point = lead & (length == 1 ? 0x7fU : 0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    point = point << 6 | (static_cast<std::uint8_t>(utf8[i]) & 0x3fU);
  }
  return {point, length};
}

std::string escaped(char32_t c) {
  const auto value = static_cast<std::uint32_t>(c);
  if (c == U'\n') return "\\n";
  if (c == U'\r') return "\\r";
  if (c == U'\t') return "\\t";
  if (value < 0x100) return fmt::format("\\x{:02x}", value);
  return value < 0x10000 ? fmt::format("\\u{:04x}", value) : fmt::format("\\U{:08x}", value);
}

}  // namespace

std::string python_repr(std::string_view utf8) {
  if (!is_utf8(utf8)) throw Error(Code::bug, "text '{}' is not UTF-8", printable(utf8));
  const auto has = [&](char c) { return utf8.find(c) != std::string_view::npos; };
  const char quote = has('\'') && !has('"') ? '"' : '\'';
  std::string text(1, quote);
  while (!utf8.empty()) {
    const auto [point, length] = first_code_point(utf8);
    if (is_unprintable(point)) {
      text += escaped(point);
    } else {
      if (utf8[0] == quote || utf8[0] == '\\') text += '\\';
      text += utf8.substr(0, length);
    }
    utf8.remove_prefix(length);
  }
  return text + quote;
}

Error PythonScanner::placed(Error error) const {
  if (origin_.file) error.at(*origin_.file, origin_.base + position_);
  return error;
}

std::string PythonScanner::next_shown() const { return printable(text_.substr(position_, 1)); }

void PythonScanner::skip_space() {
  while (position_ < text_.size() &&
         std::string_view(" \t\n\r\f").find(text_[position_]) != std::string_view::npos) {
    ++position_;
  }
}

bool PythonScanner::at_end() {
  skip_space();
  return position_ == text_.size();
}

bool PythonScanner::next_is(char c) {
  skip_space();
  return position_ < text_.size() && text_[position_] == c;
}

bool PythonScanner::accept(char c) {
  if (!next_is(c)) return false;
  ++position_;
  return true;
}

void PythonScanner::expect(char c) {
  if (!accept(c)) throw damaged("{} has '{}' where '{}' is expected", subject(), next_shown(), c);
}

std::string PythonScanner::read_string() {
  skip_space();
  if (peek() == 'u') ++position_;  // Python 2
  const char quote = peek();
  if (quote != '\'' && quote != '"') {
    throw damaged("{} has '{}' where a string is expected", subject(), next_shown());
  }
  ++position_;
  std::string value;
  while (peek() != quote) {
    if (position_ == text_.size()) throw damaged("{} ends inside a string", subject());
    const char c = text_[position_++];
    if (c == '\\') {
      append_utf8(value, read_escape());
    } else if (encoding_ == Encoding::utf8) {
      value += c;
    } else {
      append_utf8(value, static_cast<std::uint8_t>(c));
    }
  }
  ++position_;
  return value;
}

char32_t PythonScanner::read_escape() {
  const char c = peek();
  switch (c) {
    case 'n':
      return ++position_, U'\n';
    case 'r':
      return ++position_, U'\r';
    case 't':
      return ++position_, U'\t';
    case '\\':
    case '\'':
    case '"':
      return ++position_, static_cast<char32_t>(c);
    case 'x':
      return read_hex(2);
    case 'u':
      return read_hex(4);
    case 'U':
      return read_hex(8);
    default:
      throw damaged("{} has an unknown escape '\\{}'", subject(), next_shown());
  }
}

char32_t PythonScanner::read_hex(std::size_t digits) {
  ++position_;  // the letter
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(peek());
    if (digit == std::string_view::npos) {
      throw damaged("{} has an escape with too few digits", subject());
    }
    value = value << 4 | static_cast<std::uint32_t>(digit);
    ++position_;
  }
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
    throw damaged("{} has an escape U+{:04X}, which is not a character", subject(), value);
  }
  return value;
}

bool PythonScanner::read_bool() {
  skip_space();
  for (const bool value : {true, false}) {
    const std::string_view word = value ? "True" : "False";
    if (!text_.substr(position_).starts_with(word)) continue;
    position_ += word.size();
    return value;
  }
  throw damaged("{} has '{}' where True or False is expected", subject(), next_shown());
}

std::uint64_t PythonScanner::read_length() {
  skip_space();
  if (peek() == '-') throw damaged("{} has a negative length", subject());
  std::uint64_t value = 0;
  const std::size_t begin = position_;
  for (; peek() >= '0' && peek() <= '9'; ++position_) {
    const auto digit = static_cast<std::uint64_t>(peek() - '0');
    if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10) {
      throw damaged("{} has a length of 2^63 or more", subject());
    }
    value = value * 10 + digit;
  }
  if (position_ == begin) {
    throw damaged("{} has '{}' where a length is expected", subject(), next_shown());
  }
  if (peek() == 'L') ++position_;
  return value;
}

std::vector<std::uint64_t> PythonScanner::read_shape(std::size_t most) {
  std::vector<std::uint64_t> shape;
  expect('(');
  while (!accept(')')) {
    if (shape.size() == most) throw damaged("{} has more than {} axes", subject(), most);
    shape.push_back(read_length());
    if (accept(',')) continue;
    // (3) is a number to Python, not a tuple.
    if (shape.size() == 1) throw damaged("{} has a shape that is not a tuple", subject());
    expect(')');
    break;
  }
  return shape;
}

}  // namespace shale
