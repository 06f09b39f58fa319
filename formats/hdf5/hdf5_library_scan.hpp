#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// A scan of a shard of shale's own in which the HDF5 library opens the file, says where each
/// dataset lies and of what type and shape it is, and reads all values (H5Dread): see
/// Format::scan_by_library. Where rows are fixed there are no rows to hand out: what the library
/// reads is compared with the bytes where the manifest says that they lie.
[[nodiscard]] LibraryReading scan_hdf5_by_library(const ShardInput& input, const RowSink& rows,
                                                  const FindingSink& findings,
                                                  const std::function<void()>& ask);

}  // namespace shale
