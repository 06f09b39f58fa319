#include "formats/hdf5/hdf5_scan.hpp"

#include "formats/hdf5/hdf5_foreign.hpp"
#include "formats/hdf5/hdf5_own_scan.hpp"

namespace shale {

void scan_hdf5_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                     const FindingSink& findings) {
  if (input.layout.dialect == Dialect::own) return scan_own_hdf5(input, rows, findings);
  scan_foreign_hdf5(input, rows, findings);
}

}  // namespace shale
