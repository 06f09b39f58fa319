#pragma once

#include <functional>

#include "shale/format/format.hpp"

namespace shale {

/// Scans a shard that shale wrote, without the HDF5 library; of one of fixed rows all but the
/// values; any other so: the metadata first (see read_shard_directory), and no rows if it is not as
/// the schema says; then one row per sample, its places as the offsets say. A value whose offsets
/// make no sense is missing in its row. Findings: of the metadata; offsets that do not begin with
/// 0, descend, exceed or do not reach the end of their values; keys longer than 64 KiB. Memory: 16
/// MiB for windows (4 KiB a column, if there are more than 4096), 32 MiB for metadata. Errors:
/// Code::io.
void scan_own_hdf5(const ShardInput& input, const RowSink& rows, const FindingSink& findings);

/// The same for several threads: see Format::split_scan. Memory: 2 MiB for the windows of a part.
[[nodiscard]] SplitScan split_hdf5_scan(const ShardInput& input);

/// A scan of a shard of shale's own in which the HDF5 library opens the file, says where each
/// dataset lies and of what type and shape it is, and reads all values (H5Dread): see
/// Format::scan_by_library. Where rows are fixed there are no rows to hand out: what the library
/// reads is compared with the bytes where the manifest says that they lie.
[[nodiscard]] LibraryReading scan_hdf5_by_library(const ShardInput& input, const RowSink& rows,
                                                  const FindingSink& findings,
                                                  const std::function<void()>& ask);

}  // namespace shale
