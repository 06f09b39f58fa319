#include "shale/numbers/structured_columns.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/python_literal.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostSides = 64;

// The type of a column: plain, or itself a list of columns.
struct ColumnType {
  std::string descr;
  std::uint64_t bytes = 0;
  std::vector<StructuredColumn> columns;
};

// Reads what DType::descr() wrote, so nothing of it can be wrong.
class ColumnReader {
 public:
  explicit ColumnReader(std::string_view descr)
      : from_(descr, PythonScanner::Encoding::utf8, {.subject = "dtype"}) {}

  // Levels are bounded by DType::kMostLevels.
  ColumnType read_type() {
    if (!from_.next_is('[')) {
      ColumnType type{.descr = from_.read_string(), .bytes = 0, .columns = {}};
      type.bytes = DType::parse(type.descr).item_bytes();
      return type;
    }
    ColumnType type{.descr = "[...]", .bytes = 0, .columns = {}};
    from_.expect('[');
    while (!from_.accept(']')) {
      read_column(type);
      (void)from_.accept(',');
    }
    return type;
  }

 private:
  void read_column(ColumnType& into) {
    from_.expect('(');
    std::string name = read_name();
    from_.expect(',');
    ColumnType type = read_type();
    std::vector<std::uint64_t> shape;
    if (from_.accept(',') && !from_.next_is(')')) {
      shape = from_.read_shape(kMostSides);
      (void)from_.accept(',');
    }
    from_.expect(')');
    std::uint64_t count = 1;
    for (const std::uint64_t side : shape) count *= side;
    const bool is_gap = name.empty() && type.descr.starts_with("|V");
    const std::uint64_t begin = into.bytes;
    into.bytes += count * type.bytes;
    if (is_gap) return;
    if (!type.columns.empty() && shape.empty()) {
      for (StructuredColumn& column : type.columns) {
        column.name.insert(0, name + ".");
        column.offset += begin;
        into.columns.push_back(std::move(column));
      }
      return;
    }
    const NumberKind kind = type.columns.empty() ? number_kind_of(type.descr) : NumberKind::none;
    into.columns.push_back({.name = std::move(name),
                            .descr = std::move(type.descr),
                            .shape = std::move(shape),
                            .kind = kind,
                            .offset = begin,
                            .bytes = count * type.bytes});
  }

  // Either a name, or a title and a name.
  std::string read_name() {
    if (!from_.accept('(')) return from_.read_string();
    (void)from_.read_string();
    from_.expect(',');
    std::string name = from_.read_string();
    (void)from_.accept(',');
    from_.expect(')');
    return name;
  }

  PythonScanner from_;
};

}  // namespace

std::vector<StructuredColumn> columns_of(const DType& dtype) {
  if (!dtype.is_structured()) return {};
  std::vector<StructuredColumn> columns = ColumnReader(dtype.descr()).read_type().columns;
  if (columns.size() > kMostColumns) columns.resize(kMostColumns);
  return columns;
}

std::vector<std::byte> bytes_of_column(const StructuredColumn& column, std::uint64_t item_bytes,
                                       Bytes elements) {
  std::vector<std::byte> bytes;
  if (item_bytes == 0 || column.offset + column.bytes > item_bytes) return bytes;
  bytes.reserve(elements.size() / item_bytes * column.bytes);
  for (std::uint64_t at = 0; at + item_bytes <= elements.size(); at += item_bytes) {
    const Bytes value = elements.subspan(at + column.offset, column.bytes);
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  return bytes;
}

}  // namespace shale
