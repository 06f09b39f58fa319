#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/io/external_sorter.hpp"

namespace shale {

/// A row says in columns(), which ties members of it, what it is stored as. Rows are sorted by
/// their columns, from the first one on: numbers (not those below 0) by value, hashes and strings
/// bytewise. A column is a number, a Hash128, another such row, or a string, which is read
/// as a std::string or as a view into the table. A view holds no NUL, unless it is the last column.
template <class Row>
concept StoredRow = requires(Row& row) {
  Row::columns(row);
};

namespace stored_row {

// Any bytes in an order that what follows cannot change: NUL as NUL 1, the end as NUL NUL.
inline void append_any(std::string& into, std::string_view value) {
  for (std::size_t nul = value.find('\0'); nul != std::string_view::npos; nul = value.find('\0')) {
    into.append(value.substr(0, nul + 1)) += '\1';
    value.remove_prefix(nul + 1);
  }
  into.append(value).append(2, '\0');
}

[[nodiscard]] inline std::string take_any(std::string_view& from) {
  std::string value;
  for (bool is_end = false; !is_end;) {
    const std::size_t nul = from.find('\0');
    is_end = from[nul + 1] == '\0';
    value.append(from.substr(0, nul + (is_end ? 0 : 1)));
    from.remove_prefix(nul + 2);
  }
  return value;
}

template <class Column>
void append(std::string& into, const Column& value, bool is_last) {
  if constexpr (StoredRow<Column>) {
    std::apply(
        [&](const auto&... columns) {
          std::size_t left = sizeof...(columns);
          (append(into, columns, is_last && --left == 0), ...);
        },
        Column::columns(value));
  } else if constexpr (std::same_as<Column, Hash128>) {
    append_big_endian(into, value.high);
    append_big_endian(into, value.low);
  } else if constexpr (std::is_enum_v<Column>) {
    append_big_endian(into, static_cast<std::underlying_type_t<Column>>(value));
  } else if constexpr (std::is_integral_v<Column>) {
    append_big_endian(into, value);
  } else if (is_last) {
    into.append(value);
  } else if constexpr (std::same_as<Column, std::string>) {
    append_any(into, value);
  } else {
    into.append(value) += '\0';
  }
}

[[nodiscard]] inline std::uint64_t take_number(std::string_view& from, std::size_t bytes) {
  const std::uint64_t number = read_big_endian(from.substr(0, bytes));
  from.remove_prefix(bytes);
  return number;
}

template <class Column>
void take(std::string_view& from, Column& value, bool is_last) {
  if constexpr (StoredRow<Column>) {
    std::apply(
        [&](auto&... columns) {
          std::size_t left = sizeof...(columns);
          (take(from, columns, is_last && --left == 0), ...);
        },
        Column::columns(value));
  } else if constexpr (std::same_as<Column, Hash128>) {
    value.high = take_number(from, sizeof(value.high));
    value.low = take_number(from, sizeof(value.low));
  } else if constexpr (std::is_integral_v<Column> || std::is_enum_v<Column>) {
    value = static_cast<Column>(take_number(from, sizeof(Column)));
  } else if (is_last) {
    value = from;
    from = {};
  } else if constexpr (std::same_as<Column, std::string>) {
    value = take_any(from);
  } else {
    const std::size_t end = from.find('\0');
    value = from.substr(0, end);
    from.remove_prefix(end + 1);
  }
}

}  // namespace stored_row

/// Any number of rows of one type, sorted on disk in a fixed memory budget (ExternalSorter): what
/// is to be joined is added to two tables, whose rows are then passed side by side. Equal rows come
/// in the order in which they were added. Errors: same as ExternalSorter. One thread.
template <StoredRow Row>
class SortedTable {
 public:
  SortedTable(const std::string& scratch_folder, std::uint64_t memory_bytes)
      : sorter_(scratch_folder, memory_bytes) {}

  void add(const Row& row) {
    entry_.clear();
    stored_row::append(entry_, row, true);
    sorter_.add(entry_);
  }
  [[nodiscard]] std::uint64_t count() const { return sorter_.count(); }

  /// No more add() after it. Call before row() and next().
  void finish() { sorter_.finish(); }
  /// Starts again at the first row.
  void rewind() {
    sorter_.rewind();
    is_read_ = false;
  }
  /// The row that is next; null behind the last. Valid, with its views, until step() or next().
  [[nodiscard]] const Row* row() {
    if (!is_read_) read();
    return row_ ? &*row_ : nullptr;
  }
  void step() {
    if (!is_read_) read();
    is_read_ = false;
  }
  /// The same and a step: the next row, then nullopt. Its views are valid until the next call.
  [[nodiscard]] std::optional<Row> next() {
    if (!is_read_) read();
    is_read_ = false;
    return std::move(row_);
  }

  /// Calls use(row before, row) for each row, from the next one on, that has the same in `column`
  /// as the one before, beside which it lies. A row without views only.
  template <class Column, class Use>
  void for_each_repeated(Column Row::*column, Use use) {
    std::optional<Row> before;
    while (std::optional<Row> next = this->next()) {
      if (before && (*before).*column == (*next).*column) use(*before, *next);
      before = std::move(next);
    }
  }

  /// Steps to the first row that has no less in its first column: what joins two tables.
  template <class Column>
  void pass_below(Column Row::*first_column, const Column& least) {
    for (const Row* next = row(); next != nullptr && is_less(next->*first_column, least);
         next = row())
      step();
  }

 private:
  template <class Column>
  static bool is_less(const Column& a, const Column& b) {
    if constexpr (std::same_as<Column, Hash128>) {
      return std::pair(a.high, a.low) < std::pair(b.high, b.low);
    } else {
      return a < b;
    }
  }
  void read() {
    is_read_ = true;
    row_.reset();
    std::optional<std::string_view> entry = sorter_.next();
    if (entry) stored_row::take(*entry, row_.emplace(), true);
  }

  ExternalSorter sorter_;
  std::string entry_;
  std::optional<Row> row_;
  bool is_read_ = false;
};

}  // namespace shale
