#include "shale/shards/fixed_rows.hpp"

#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kNumberWindowBytes = 16 * 1024;

}  // namespace

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
