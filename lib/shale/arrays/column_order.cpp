#include "shale/arrays/column_order.hpp"

#include <algorithm>
#include <cstring>

#include "shale/base/error.hpp"
#include "shale/base/transpose.hpp"

namespace shale {

ColumnOrder::ColumnOrder(std::span<const std::uint64_t> axes, std::uint64_t item_bytes)
    : item_bytes_(item_bytes) {
  std::uint64_t step = item_bytes;
  for (const std::uint64_t length : axes) {
    if (length == 1) continue;
    axes_.push_back({length, step, 0});
    step *= length;
  }
  step = item_bytes;
  for (std::size_t i = axes_.size(); i-- > 0; step *= axes_[i].length) axes_[i].row_step = step;
}

std::uint64_t ColumnOrder::offset_of(std::uint64_t column) const {
  std::uint64_t offset = 0;
  for (const Axis& axis : axes_) {
    offset += column % axis.length * axis.row_step;
    column /= axis.length;
  }
  return offset;
}

void ColumnOrder::place(Bytes items, std::uint64_t first_column, std::span<std::byte> row) const {
  if (first_column > row.size() / item_bytes_ ||
      items.size() > row.size() - first_column * item_bytes_)
    throw Error(Code::bug, "column {} is not in a row of {} bytes", first_column, row.size());
  if (is_kept()) {
    std::memcpy(row.data() + first_column * item_bytes_, items.data(), items.size());
  } else if (items.size() == row.size()) {
    place_row(items, row);
  } else {
    place_part(items, first_column, row);
  }
}

/// Planes of the first axis and the last: one runs fastest in the file, the other in the row, so
/// that the planes which follow find the cache lines of both still in the cache.
void ColumnOrder::place_row(Bytes items, std::span<std::byte> row) const {
  const Axis& first = axes_.front();
  const Axis& last = axes_.back();
  const Transposition plane{.lines = last.length,
                            .length = first.length,
                            .item_bytes = item_bytes_,
                            .from_line = last.file_step,
                            .into_line = item_bytes_,
                            .into_item = first.row_step};
  // A plane begins every first.length columns, those with the other indices of the last axis left
  // out.
  for (std::uint64_t from = 0; from < last.file_step; from += first.length * item_bytes_)
    transpose(plane, items.subspan(from), row.subspan(offset_of(from / item_bytes_)));
}

/// Planes of the two axes that run fastest in the file; lines are runs along the first of them. A
/// line at either end may be partial.
void ColumnOrder::place_part(Bytes items, std::uint64_t first_column,
                             std::span<std::byte> row) const {
  const Axis& along = axes_[0];
  const Axis& across = axes_[1];
  while (!items.empty()) {
    const std::uint64_t begin = first_column % along.length;
    const std::uint64_t line = first_column / along.length % across.length;
    const std::uint64_t left = items.size() / item_bytes_;
    const bool is_cut = begin > 0 || left < along.length;
    const std::uint64_t length = std::min(left, along.length - begin);
    const std::uint64_t lines = is_cut ? 1 : std::min(left / along.length, across.length - line);
    transpose({.lines = lines,
               .length = length,
               .item_bytes = item_bytes_,
               .from_line = along.length * item_bytes_,
               .into_line = across.row_step,
               .into_item = along.row_step},
              items, row.subspan(offset_of(first_column)));
    first_column += lines * length;
    items = items.subspan(lines * length * item_bytes_);
  }
}

}  // namespace shale
