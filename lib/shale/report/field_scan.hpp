#pragma once

#include <vector>

#include "shale/report/bins.hpp"
#include "shale/report/column_scan.hpp"

namespace shale {

/// Sizes of the values of every field, and what the numbers among them are, while rows come by:
/// twice, since bars need the range.
class FieldScan {
 public:
  /// Of one field.
  struct Column {
    std::uint64_t values = 0, missing = 0;
    std::uint64_t bytes = 0, least = 0, most = 0;  ///< of values that lie in the container
    NumberCounts numbers;                          ///< of integers and reals
    WidthBins bins;
    bool are_whole = false;
  };

  explicit FieldScan(const ReportedSet& set) : columns_(set.schema().fields.size()) {}

  void take(const ScannedRows& rows);
  /// Between the two walks.
  void begin_bins();
  void take_again(const ScannedRows& rows);

  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  /// Of all values of a sample that lie in the container.
  [[nodiscard]] const RatioBins& sample_bytes() const { return sample_bytes_; }

 private:
  std::vector<Column> columns_;
  RatioBins sample_bytes_;
};

}  // namespace shale
