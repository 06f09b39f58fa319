#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/columns/own_columns.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// Where the columns of a shard lie, and how many rows they have.
struct ShardDirectory {
  std::uint64_t samples = 0;
  std::vector<ColumnExtent> extents;  ///< one per column of the plan
};

/// A view of one column of the plan, by offsets in the file, that holds so many bytes at a time.
using ViewColumn = std::function<ViewBytes(std::size_t column, std::uint64_t window_bytes)>;

/// The rows of a shard of shale's own whose metadata has been read, whoever read it, and whoever
/// reads the values. A value whose offsets make no sense is missing in its row, after a finding;
/// others are keys longer than 64 KiB, and offsets that do not reach the end of their values.
/// Memory: 16 MiB for windows (4 KiB a column, if there are more than 4096). Errors: Code::io.
void scan_columns(const ShardInput& input, const Hdf5Plan& plan, const ShardDirectory& directory,
                  const ViewColumn& view_column, const RowSink& rows, const FindingSink& findings);

/// The rows of a part. Memory: 2 MiB for windows.
void scan_part_of_columns(const ShardInput& input, const Hdf5Plan& plan,
                          const ShardDirectory& directory, const ViewColumn& view_column,
                          const ScanRows& part, const RowSink& rows, const FindingSink& findings);

}  // namespace shale
