#include "shale/shards/fixed_rows.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kNumberWindowBytes = 16 * 1024;

}  // namespace

Bytes FixedRun::read(const FixedColumn& column) {
  std::vector<std::byte>& values = values_.emplace_back(rows_ * column.stride);
  column.file->read_exact(column.place(begin_).offset, values);
  return values;
}

std::uint64_t row_bytes_of(std::span<const FixedColumn> columns) {
  std::uint64_t bytes = 0;
  for (const FixedColumn& column : columns) bytes += std::min(column.stride, kMissing - bytes);
  return bytes;
}

std::uint64_t rows_at_once(std::uint64_t row_bytes, std::uint64_t bytes) {
  return std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, row_bytes));
}

FixedRowReader::FixedRowReader(std::vector<FixedColumn> columns) : columns_(std::move(columns)) {
  for (const FixedColumn& column : columns_) {
    if (!is_located(column.field->kind)) numbers_.emplace_back(*column.file, kNumberWindowBytes);
  }
}

IndexRow FixedRowReader::row(std::uint64_t row) {
  IndexRow made;
  auto window = numbers_.begin();
  for (const FixedColumn& column : columns_) {
    IndexCell& cell = made.cells.emplace_back();
    const FieldPlace place = column.place(row);
    if (!is_located(column.field->kind)) {
      try {
        cell = read_number(window++->view(place.offset, place.length), *column.field);
      } catch (Error& error) {
        error.at(column.file->path(), place.offset);
        throw;
      }
    }
    cell.place = place;
  }
  return made;
}

}  // namespace shale
