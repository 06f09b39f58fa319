#include "formats/hdf5/hdf5_scan.hpp"

#include "shale/base/error.hpp"

#include "formats/hdf5/hdf5_own_scan.hpp"

namespace shale {

void scan_hdf5_shard(const ShardInput& input, const OptionSet&, const RowSink& rows,
                     const FindingSink& findings) {
  if (input.layout.dialect == Dialect::own) return scan_own_hdf5(input, rows, findings);
  throw Error(Code::unsupported, "HDF5 files of other tools cannot be scanned yet")
      .at(input.files[0].path());
}

}  // namespace shale
