#pragma once

#include "shale/format/format.hpp"
#include "shale/trees/hdf5_description.hpp"

// A file with a group per sample, read in place: where numbers, arrays and strings lie as they are
// (contiguous datasets without filters, attributes), and groups are as h5py writes them
// (hdf5_old_file.hpp), the index leads to them, and the name of each group in the file is its key.

namespace shale {

/// Reads groups, headers and strings, but no other payload. Errors: Code::unsupported where values
/// have to be unpacked, or groups are of a newer form; Code::damaged; Code::io.
[[nodiscard]] Survey survey_hdf5_samples(const InputFile& file, const Hdf5SamplePlace& place,
                                         bool is_asked_for, const WalkProgress& progress);

/// Rows of such a file, as Format::scan says. `find` is called for the place of the samples, and
/// what it throws about bytes is a finding.
void scan_hdf5_samples(const ShardInput& input, const std::function<Hdf5SamplePlace()>& find,
                       const RowSink& rows, const FindingSink& findings);

}  // namespace shale
