#include "shale/data/dtype.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/python_literal.hpp"

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
constexpr std::size_t kMostAxes = 64;  // NPY_MAXDIMS of NumPy 2
constexpr std::size_t kMostSwaps = 65'536;

bool is_listed(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  std::size_t at = list.find(word);
  while (at != std::string_view::npos && !(list[at - 1] == ' ' && list[at + word.size()] == ' '))
    at = list.find(word, at + 1);
  return at != std::string_view::npos;
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

// The bytes of an element whose dtype is `letter` and then `width`; nullopt for any other
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

// A type as it is read: the string of its little-endian form, and what is stored differently.
struct Element {
  std::string descr;
  std::uint64_t bytes = 0;
  std::vector<ByteSwap> swaps;
};

enum class Orders : std::uint8_t { little, any };

// The bytes that are turned around together in a plain element.
std::uint32_t swap_width(char letter, std::uint64_t bytes) {
  if (letter == 'U') return 4;
  return static_cast<std::uint32_t>(letter == 'c' ? bytes / 2 : bytes);
}

// NumPy prints "[1s]" as "[s]".
std::string without_one(std::string descr) {
  const std::size_t bracket = descr.find("[1");
  const bool has_one = bracket != std::string::npos && descr[bracket + 2] > '9';
  if (has_one) descr.erase(bracket + 1, 1);
  return descr;
}

Element plain_element(std::string_view descr, Orders orders) {
  const std::size_t letter = descr.find_first_not_of("<>=|");
  if (letter != std::string_view::npos && descr[letter] == 'O') {
    throw Error(Code::unsupported, "dtype '{}' holds Python objects, which only pickle can read",
                printable(descr))
        .hint("convert the array with .astype() to numbers or fixed-size strings");
  }
  const char order = descr.empty() ? '\0' : descr[0];
  std::optional<std::uint64_t> bytes;
  const bool is_order =
      order == '<' || order == '|' || order == '>' || (order == '=' && orders == Orders::any);
  if (descr.size() > 2 && is_order) bytes = bytes_of_item(descr[1], descr.substr(2));
  if (!bytes) {
    throw Error(Code::unsupported, "dtype '{}' is not a fixed-size dtype that shale supports",
                printable(descr))
        .hint("convert the array with .astype() to a plain NumPy dtype, such as uint8 or float32");
  }
  // Without byte order: NumPy prints '|', others '<' or '>' (ml_dtypes has '<V2'), and all mean the
  // same.
  const bool is_byteless = descr[1] == 'S' || descr[1] == 'V' || *bytes == 1;
  if (order == '>' && !is_byteless && orders == Orders::little) {
    throw Error(Code::unsupported, "dtype '{}' is big-endian", printable(descr))
        .hint("convert the array with .astype(dtype.newbyteorder('<'))");
  }
  if (order == '|' && !is_byteless) {
    throw Error(Code::unsupported, "dtype '{}' does not say its byte order", printable(descr));
  }
  Element element{without_one(std::string(descr)), *bytes, {}};
  element.descr[0] = is_byteless ? '|' : '<';
  if (order == '>' && !is_byteless) {
    const std::uint32_t width = swap_width(descr[1], *bytes);
    element.swaps.push_back({0, width, *bytes / width});
  }
  return element;
}

// Swaps in order of their offsets; adjacent ones of one width become one.
class SwapList {
 public:
  void append(std::span<const ByteSwap> swaps, std::uint64_t offset) {
    for (ByteSwap swap : swaps) {
      swap.offset += offset;
      if (!swaps_.empty() && continues(swaps_.back(), swap)) {
        swaps_.back().count += swap.count;
      } else {
        if (swaps_.size() == kMostSwaps) {
          throw Error(Code::limit, "an element has more than {} runs of big-endian numbers",
                      kMostSwaps);
        }
        swaps_.push_back(swap);
      }
    }
  }
  [[nodiscard]] std::vector<ByteSwap> take() { return std::move(swaps_); }

 private:
  static bool continues(const ByteSwap& last, const ByteSwap& next) {
    return last.width == next.width && last.offset + last.width * last.count == next.offset;
  }
  std::vector<ByteSwap> swaps_;
};

// `count` elements one after the other.
std::vector<ByteSwap> repeated(const Element& element, std::uint64_t count) {
  const auto& swaps = element.swaps;
  if (swaps.empty() || count == 0) return {};
  if (swaps[0].width * swaps[0].count == element.bytes)
    return {{0, swaps[0].width, swaps[0].count * count}};
  SwapList list;
  for (std::uint64_t i = 0; i < count; ++i) list.append(swaps, i * element.bytes);
  return list.take();
}

// The columns of one list. Gaps become one nameless column each, as NumPy prints them.
class ColumnList {
 public:
  void add_padding(std::uint64_t bytes) {
    gap_ += bytes;
    grow(bytes);
  }
  void add(std::string_view name_text, const Element& element, std::string_view shape_text,
           std::uint64_t count) {
    close_gap();
    if (!text_.empty()) text_ += ", ";
    const bool is_list = element.descr.starts_with('[');
    text_ +=
        fmt::format("({}, {}{}{})", name_text, is_list ? element.descr : python_repr(element.descr),
                    shape_text.empty() ? "" : ", ", shape_text);
    swaps_.append(repeated(element, count), bytes_);
    grow(element.bytes * count);
  }
  [[nodiscard]] Element take() {
    close_gap();
    return {"[" + text_ + "]", bytes_, swaps_.take()};
  }

 private:
  void close_gap() {
    if (gap_ == 0) return;
    text_ += fmt::format("{}('', '|V{}')", text_.empty() ? "" : ", ", gap_);
    gap_ = 0;
  }
  void grow(std::uint64_t bytes) {
    bytes_ += bytes;
    if (bytes_ > kMostItemBytes) {
      throw Error(Code::limit, "columns of an element take {} bytes; NumPy allows at most {}",
                  bytes_, kMostItemBytes);
    }
  }

  std::string text_;
  std::uint64_t bytes_ = 0, gap_ = 0;
  SwapList swaps_;
};

// Reads a list of columns. A column is ('name', type), ('name', type, shape) or the same with
// ('title', 'name') for its name; a type is a string or a list.
class DescrReader {
 public:
  DescrReader(PythonScanner& from, Orders orders) : from_(from), orders_(orders) {}

  Element read_type(int level) {
    if (from_.next_is('[')) return read_list(level + 1);
    if (from_.next_is('(')) {
      throw from_.error(Code::unsupported, "{} has a dtype that is a pair of type and shape",
                        from_.subject());
    }
    const PythonScanner place = from_;  // errors are about the string, not about what follows
    const std::string descr = from_.read_string();
    try {
      return plain_element(descr, orders_);
    } catch (Error& error) {
      throw place.placed(error);
    }
  }

 private:
  struct Column {
    std::string name;
    std::optional<std::string> title;
  };
  struct Shape {
    std::string text;  // empty: a single element
    std::uint64_t count = 1;
  };

  Element read_list(int level) {
    if (level > DType::kMostLevels) {
      throw from_.error(Code::limit, "{} nests more than {} lists of columns", from_.subject(),
                        DType::kMostLevels);
    }
    ColumnList columns;
    std::vector<std::string> names;
    from_.expect('[');
    while (!from_.accept(']')) {
      read_column(level, columns, names);
      if (from_.accept(',')) continue;
      from_.expect(']');
      break;
    }
    check_names(names);
    return columns.take();
  }

  void read_column(int level, ColumnList& columns, std::vector<std::string>& names) {
    from_.expect('(');
    Column column = read_name();
    from_.expect(',');
    const Element element = read_type(level);
    Shape shape;
    if (from_.accept(',') && !from_.next_is(')')) {
      shape = read_shape(column, element);
      from_.accept(',');
    }
    from_.expect(')');
    try {
      const bool is_void = element.descr.starts_with("|V") || !shape.text.empty();
      if (column.name.empty() && !column.title && is_void) {
        return columns.add_padding(element.bytes * shape.count);
      }
      columns.add(name_text(column), element, shape.text, shape.count);
    } catch (Error& error) {
      throw from_.placed(error);
    }
    if (column.title) names.push_back(std::move(*column.title));
    names.push_back(std::move(column.name));
  }

  Column read_name() {
    if (!from_.accept('(')) return {from_.read_string(), std::nullopt};
    std::string title = from_.read_string();
    from_.expect(',');
    Column column{from_.read_string(), std::move(title)};
    from_.accept(',');
    from_.expect(')');
    return column;
  }

  static std::string name_text(const Column& column) {
    if (!column.title) return python_repr(column.name);
    return fmt::format("({}, {})", python_repr(*column.title), python_repr(column.name));
  }

  Shape read_shape(const Column& column, const Element& element) {
    std::vector<std::uint64_t> axes;
    if (from_.next_is('(')) {
      axes = from_.read_shape(kMostAxes);
    } else {
      axes.push_back(from_.read_length());
    }
    if (axes.empty()) return {};
    Shape shape{fmt::format("({}{})", fmt::join(axes, ", "), axes.size() == 1 ? "," : "")};
    const bool is_empty = std::find(axes.begin(), axes.end(), std::uint64_t{0}) != axes.end();
    if (is_empty) shape.count = 0;
    for (const std::uint64_t axis : axes) {
      const std::uint64_t most = kMostItemBytes / std::max<std::uint64_t>(element.bytes, 1);
      if (axis > kMostItemBytes || (!is_empty && axis > most / shape.count)) {
        throw from_.error(Code::limit, "column '{}' of shape {} takes more than {} bytes",
                          printable(column.name), shape.text, kMostItemBytes);
      }
      shape.count *= axis;
    }
    return shape;
  }

  void check_names(std::vector<std::string>& names) const {
    if (names.empty()) throw from_.damaged("{} has no columns", from_.subject());
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
      throw from_.damaged("{} names column '{}' twice", from_.subject(), printable(*twice));
    }
  }

  PythonScanner& from_;
  Orders orders_;
};

// What only the whole type can show.
Element checked(Element element) {
  if (element.bytes == 0) {
    throw Error(Code::unsupported, "elements of dtype '{}' have zero bytes",
                printable(element.descr.substr(0, 200)));
  }
  if (element.descr.size() > DType::kMostTextBytes) {
    throw Error(Code::limit, "dtype of {} characters as NumPy prints it, more than the limit of {}",
                element.descr.size(), DType::kMostTextBytes);
  }
  return element;
}

Element parse_element(std::string_view descr, Orders orders) {
  if (!descr.starts_with('[')) return plain_element(descr, orders);
  if (descr.size() > DType::kMostTextBytes) {
    throw Error(Code::limit, "dtype of {} characters, more than the limit of {}", descr.size(),
                DType::kMostTextBytes);
  }
  if (!is_utf8(descr)) throw Error(Code::damaged, "dtype is not UTF-8");
  PythonScanner from(descr, PythonScanner::Encoding::utf8, {.subject = "dtype"});
  Element element = DescrReader(from, orders).read_type(0);
  if (!from.at_end()) throw from.damaged("dtype continues after its list of columns");
  return checked(std::move(element));
}

}  // namespace

DType DType::parse(std::string_view descr) {
  Element element = parse_element(descr, Orders::little);
  return {std::move(element.descr), element.bytes};
}

DType DType::packed(std::span<const std::pair<std::string, std::string>> names_and_types) {
  ColumnList columns;
  for (const auto& [name, type] : names_and_types) {
    // "(2,)<u8", as NumPy takes it: two of them.
    const std::size_t shape = type.starts_with('(') ? type.find(')') + 1 : 0;
    const std::uint64_t count = shape > 0 ? parse_width(type.substr(1, shape - 3)).value_or(0) : 1;
    columns.add(python_repr(name), plain_element(type.substr(shape), Orders::little),
                type.substr(0, shape), count);
  }
  Element element = columns.take();
  return {std::move(element.descr), element.bytes};
}

StoredDType parse_stored_dtype(std::string_view descr) {
  Element element = parse_element(descr, Orders::any);
  return {DType(std::move(element.descr), element.bytes), std::move(element.swaps)};
}

StoredDType read_stored_dtype(PythonScanner& from) {
  (void)from.at_end();  // past white space: errors of the whole are at its first character
  const PythonScanner place = from;
  try {
    Element element = checked(DescrReader(from, Orders::any).read_type(0));
    return {DType(std::move(element.descr), element.bytes), std::move(element.swaps)};
  } catch (Error& error) {
    throw place.placed(error);
  }
}

}  // namespace shale
