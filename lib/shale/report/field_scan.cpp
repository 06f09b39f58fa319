#include "shale/report/field_scan.hpp"

#include <algorithm>

namespace shale {

void FieldScan::take(const ScannedRows& rows) {
  std::vector<std::uint64_t> bytes(rows.rows.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    for (std::size_t row = 0; row < rows.lengths[i].size(); ++row) {
      const std::uint64_t length = rows.lengths[i][row];
      if (length == kMissing) {
        ++column.missing;
        continue;
      }
      column.least = column.values == 0 ? length : std::min(column.least, length);
      column.most = std::max(column.most, length);
      column.bytes += length;
      ++column.values;
      bytes[row] += length;
    }
    if (rows.kinds[i] == NumberKind::none) continue;
    column.are_whole = is_whole(rows.kinds[i]);
    column.values += rows.rows.size();
    column.numbers.count(rows.kinds[i], rows.numbers[i]);
  }
  for (const std::uint64_t of_sample : bytes) sample_bytes_.count(of_sample);
}

void FieldScan::begin_bins() {
  for (Column& column : columns_) {
    if (column.numbers.finite_count() == 0) continue;
    column.bins = WidthBins(column.numbers.minimum(), column.numbers.maximum(), column.are_whole);
  }
}

void FieldScan::take_again(const ScannedRows& rows) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (rows.kinds[i] != NumberKind::none)
      count_into(columns_[i].bins, rows.kinds[i], rows.numbers[i]);
  }
}

}  // namespace shale
