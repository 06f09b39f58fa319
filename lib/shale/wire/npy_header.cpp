#include "shale/wire/npy_header.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/dtype.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kGrowthDigits = 21;  // GROWTH_AXIS_MAX_DIGITS
constexpr std::uint64_t kMaxTextBytes = 65'535;
constexpr std::string_view kMagic = "\x93NUMPY";

// Code points of well-formed UTF-8.
std::u32string code_points(std::string_view utf8) {
  if (!is_utf8(utf8)) throw Error(Code::bug, "column name '{}' is not UTF-8", printable(utf8));
  std::u32string points;
  for (const char c : utf8) {
    const auto byte = static_cast<std::uint8_t>(c);
    if ((byte & 0xc0U) == 0x80) {
      points.back() = points.back() << 6 | (byte & 0x3fU);
    } else {
      points.push_back(byte < 0x80   ? byte
                       : byte < 0xe0 ? byte & 0x1fU
                       : byte < 0xf0 ? byte & 0x0fU
                                     : byte & 0x07U);
    }
  }
  return points;
}

// As Python's repr() writes a str, up to U+00FF; beyond, Python also escapes what its Unicode
// tables call unprintable.
std::u32string repr(std::string_view utf8) {
  const std::u32string points = code_points(utf8);
  const auto has = [&](char32_t c) { return points.find(c) != std::u32string::npos; };
  const char32_t quote = has(U'\'') && !has(U'"') ? U'"' : U'\'';
  std::u32string text(1, quote);
  for (const char32_t c : points) {
    const bool is_unprintable = c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad;
    if (c == quote || c == U'\\') text += U'\\';
    if (c == U'\n' || c == U'\r' || c == U'\t') {
      text += U'\\';
      text += c == U'\n' ? U'n' : c == U'\r' ? U'r' : U't';
    } else if (is_unprintable) {
      for (const char digit : fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c))) {
        text += static_cast<char32_t>(digit);
      }
    } else {
      text += c;
    }
  }
  return text + quote;
}

std::u32string widened(std::string_view ascii) { return {ascii.begin(), ascii.end()}; }

std::u32string descr_text(const NpyHeader& header) {
  const auto& columns = header.columns;
  if (columns.size() == 1 && columns[0].first.empty()) return repr(columns[0].second);
  std::u32string text = U"[";
  for (const auto& [name, descr] : columns) {
    if (text.size() > 1) text += U", ";
    text += U"(" + repr(name) + U", " + repr(descr) + U")";
  }
  return text + U"]";
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::u32string dict_text(const NpyHeader& header) {
  std::u32string text = U"{'descr': " + descr_text(header);
  text += header.fortran_order ? U", 'fortran_order': True" : U", 'fortran_order': False";
  text += widened(", 'shape': " + shape_text(header.shape) + ", }");
  if (header.shape.empty()) return text;
  const std::uint64_t axis = header.fortran_order ? header.shape.back() : header.shape.front();
  return text + std::u32string(kGrowthDigits - fmt::formatted_size("{}", axis), U' ');
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto tail = [&](unsigned shift) { put(0x80U | (c >> shift & 0x3fU)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xc0U | c >> 6), tail(0);
  if (c < 0x10000) return put(0xe0U | c >> 12), tail(6), tail(0);
  put(0xf0U | c >> 18), tail(12), tail(6), tail(0);
}

}  // namespace

std::uint64_t NpyHeader::item_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, descr] : columns) {
    const std::uint64_t column = DType::parse(descr).item_bytes();
    if (column > (~std::uint64_t{0} >> 1) - bytes) {
      throw Error(Code::damaged, "columns of one row take 2^63 bytes or more");
    }
    bytes += column;
  }
  return bytes;
}

std::vector<std::byte> npy_header_bytes(const NpyHeader& header) {
  const std::u32string dict = dict_text(header);
  const bool is_latin1 =
      std::all_of(dict.begin(), dict.end(), [](char32_t c) { return c < 0x100; });
  std::string text;
  for (const char32_t c : dict) {
    if (is_latin1) {
      text += static_cast<char>(c);
    } else {
      append_utf8(text, c);
    }
  }
  const std::uint64_t prefix_bytes = is_latin1 ? 10 : 12;
  // One to 64 spaces: NumPy never pads with none.
  text.append(kAlignment - (prefix_bytes + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  if (text.size() > kMaxTextBytes) {
    throw Error(Code::limit, "npy header of {} bytes, version 1.0 holds at most {}", text.size(),
                kMaxTextBytes);
  }
  ByteWriter out;
  out.write_text(kMagic);
  out.write(static_cast<std::uint8_t>(is_latin1 ? 1 : 3));
  out.write(std::uint8_t{0});
  if (is_latin1) {
    out.write(static_cast<std::uint16_t>(text.size()));
  } else {
    out.write(static_cast<std::uint32_t>(text.size()));
  }
  out.write_text(text);
  return out.take();
}

namespace {

constexpr std::uint64_t kMaxAxes = 64;  // NPY_MAXDIMS of NumPy 2

// Reads the dict literal. Nothing nests deeper than a column of a list, so there is no recursion to
// exhaust.
class DictParser {
 public:
  DictParser(std::string_view text, std::uint64_t base, bool is_utf8, std::string_view where)
      : text_(text), base_(base), is_utf8_(is_utf8), where_(where) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = parse_string();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        header.columns = parse_descr();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran_order = parse_bool();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = parse_shape();
      } else {
        throw damaged("npy header has a key '{}' too many", printable(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) throw damaged("npy header goes on after its dictionary");
    if (!has_descr || !has_order || !has_shape) {
      throw damaged("npy header has no '{}'", !has_descr   ? "descr"
                                              : !has_order ? "fortran_order"
                                                           : "shape");
    }
    return header;
  }

 private:
  template <class... Args>
  Error error(Code code, fmt::format_string<Args...> format, Args&&... args) const {
    Error error(code, format, std::forward<Args>(args)...);
    error.at(where_, base_ + position_);
    return error;
  }
  template <class... Args>
  Error damaged(fmt::format_string<Args...> format, Args&&... args) const {
    return error(Code::damaged, format, std::forward<Args>(args)...);
  }

  [[nodiscard]] char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void skip_space() {
    while (position_ < text_.size() &&
           std::string_view(" \t\n\r\f").find(peek()) != std::string_view::npos) {
      ++position_;
    }
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (accept(c)) return;
    throw damaged("npy header has '{}' where '{}' must be", printable(text_.substr(position_, 1)),
                  c);
  }

  // A Python string literal as UTF-8.
  std::string parse_string() {
    skip_space();
    if (peek() == 'u') ++position_;  // Python 2
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      throw damaged("npy header has '{}' where a string must be",
                    printable(text_.substr(position_, 1)));
    }
    ++position_;
    std::string value;
    while (peek() != quote) {
      if (position_ == text_.size()) throw damaged("npy header ends inside a string");
      const char c = text_[position_++];
      if (c == '\\') {
        append_utf8(value, parse_escape());
      } else if (is_utf8_) {
        value += c;
      } else {
        append_utf8(value, static_cast<std::uint8_t>(c));
      }
    }
    ++position_;
    return value;
  }

  char32_t parse_escape() {
    const char c = peek();
    ++position_;
    switch (c) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case '\\':
      case '\'':
      case '"':
        return static_cast<char32_t>(c);
      case 'x':
        return parse_hex(2);
      case 'u':
        return parse_hex(4);
      case 'U':
        return parse_hex(8);
      default:
        throw damaged("npy header has an unknown escape '\\{}'", printable({&c, 1}));
    }
  }

  char32_t parse_hex(std::size_t digits) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const std::size_t digit = std::string_view("0123456789abcdef").find(peek());
      if (digit == std::string_view::npos)
        throw damaged("npy header has an escape of too few digits");
      value = value << 4 | static_cast<std::uint32_t>(digit);
      ++position_;
    }
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      throw damaged("npy header has an escape U+{:04X}, which is no character", value);
    }
    return value;
  }

  bool parse_bool() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(position_).starts_with(word)) continue;
      position_ += word.size();
      return value;
    }
    throw damaged("npy header's 'fortran_order' is neither True nor False");
  }

  // Digits with an optional L, as Python 2 wrote them.
  std::uint64_t parse_integer() {
    skip_space();
    std::uint64_t value = 0;
    const std::size_t begin = position_;
    for (; peek() >= '0' && peek() <= '9'; ++position_) {
      const auto digit = static_cast<std::uint64_t>(peek() - '0');
      if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10) {
        throw damaged("npy header has an axis of 2^63 or more");
      }
      value = value * 10 + digit;
    }
    if (position_ == begin) {
      throw damaged("npy header has '{}' where a length must be",
                    printable(text_.substr(position_, 1)));
    }
    if (peek() == 'L') ++position_;
    return value;
  }

  std::vector<std::uint64_t> parse_shape() {
    std::vector<std::uint64_t> shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaxAxes) throw damaged("npy header has more than {} axes", kMaxAxes);
      shape.push_back(parse_integer());
      if (accept(',')) continue;
      // (3) is a number to Python, not a tuple.
      if (shape.size() == 1) throw damaged("npy header's 'shape' is not a tuple");
      expect(')');
      break;
    }
    return shape;
  }

  void refuse(std::string_view column, std::string_view what) const {
    if (column.empty()) throw error(Code::unsupported, "npy array of {}", what);
    throw error(Code::unsupported, "npy column '{}' of {}", printable(column), what);
  }

  std::string parse_plain_descr(std::string_view column) {
    skip_space();
    if (peek() == '[') refuse(column, "nested structures");
    if (peek() == '(') refuse(column, "sub-arrays");
    const std::string descr = parse_string();
    const std::size_t order = descr.find_first_not_of("<>=|");
    if (order != std::string::npos && descr[order] == 'O') {
      refuse(column, "Python objects, which only pickle could read");
    }
    return descr;
  }

  std::vector<std::pair<std::string, std::string>> parse_descr() {
    std::vector<std::pair<std::string, std::string>> columns;
    if (!accept('[')) {
      columns.emplace_back(std::string(), parse_plain_descr({}));
      return columns;
    }
    while (!accept(']')) {
      expect('(');
      skip_space();
      if (peek() == '(') refuse({}, "columns with titles");
      std::string name = parse_string();
      expect(',');
      std::string descr = parse_plain_descr(name);
      const bool has_comma = accept(',');
      if (!accept(')')) {
        if (has_comma) refuse(name, "sub-arrays of a shape");
        expect(')');
      }
      columns.emplace_back(std::move(name), std::move(descr));
      if (accept(',')) continue;
      expect(']');
      break;
    }
    check_names(columns);
    return columns;
  }

  // NumPy writes padding between aligned columns as columns without a name: those may repeat.
  void check_names(const std::vector<std::pair<std::string, std::string>>& columns) const {
    std::vector<std::string_view> names;
    for (const auto& [name, descr] : columns) {
      if (!name.empty()) names.push_back(name);
    }
    if (names.empty()) throw damaged("npy header names no column");
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      throw damaged("npy header names column '{}' twice", printable(*twice));
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint64_t base_;
  bool is_utf8_;
  std::string_view where_;
};

void check_total(const NpyHeader& header, std::string_view where) {
  std::uint64_t bytes = std::max<std::uint64_t>(header.item_bytes(), 1);
  for (const std::uint64_t axis : header.shape) {
    if (axis == 0) continue;
    if (bytes > (~std::uint64_t{0} >> 1) / axis) {
      throw Error(Code::damaged, "npy array of shape {} takes 2^63 bytes or more",
                  shape_text(header.shape))
          .at(where);
    }
    bytes *= axis;
  }
}

}  // namespace

NpyHeader parse_npy_header(Bytes bytes, std::string_view where) {
  ByteReader in(bytes, where);
  if (in.remaining() < kMagic.size() || as_text(in.read_bytes(kMagic.size())) != kMagic) {
    throw Error(Code::damaged, "file does not begin like an npy file").at(where, 0);
  }
  const std::uint8_t major = in.read_u8(), minor = in.read_u8();
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(Code::unsupported, "npy version {}.{}, versions 1.0 to 3.0 are known", major, minor)
        .at(where, 6);
  }
  const std::uint64_t length = major == 1 ? in.read_u16() : in.read_u32();
  const std::uint64_t begin = in.offset();
  if (begin + length > kMaxNpyHeaderBytes) {
    throw Error(Code::limit, "npy header of {} bytes, at most {} are read", begin + length,
                kMaxNpyHeaderBytes)
        .at(where, 8);
  }
  if (length > in.remaining()) {
    throw Error(Code::damaged, "npy header of {} bytes is cut short after {}", begin + length,
                bytes.size())
        .at(where, 8);
  }
  const std::string_view text = as_text(in.read_bytes(length));
  if (major == 3 && !is_utf8(text))
    throw Error(Code::damaged, "npy header is not UTF-8").at(where, begin);
  try {
    NpyHeader header = DictParser(text, begin, major == 3, where).parse();
    header.data_offset = begin + length;
    check_total(header, where);
    return header;
  } catch (Error& error) {
    throw error.at(where);
  }
}

}  // namespace shale
