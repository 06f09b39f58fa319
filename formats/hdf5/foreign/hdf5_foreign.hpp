#pragma once

#include "shale/format/file_contents.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// What an HDF5 file that another tool made holds: every dataset at its root is a field, its first
/// dimension the samples (hdf5_foreign_columns.hpp has the rules). Asks the HDF5 library in a child
/// process (hdf5_probe.hpp); reads offsets, and strings whether they are UTF-8, but no other
/// payload. Errors: Code::unsupported, by dataset and reason,
/// for what cannot be located; Code::damaged, Code::limit, Code::io.
[[nodiscard]] Survey survey_hdf5_file(const InputFile& file, const Parsing& parsing,
                                      const WalkProgress& progress = {});

/// Rows of such a file, as Format::scan says.
/// Errors: Code::io; Code::bug if `input` is not one file.
void scan_foreign_hdf5(const ShardInput& input, const RowSink& rows, const FindingSink& findings);

/// All datasets of an HDF5 file, as Format::list_contents says. Errors: same as probe_hdf5_file.
[[nodiscard]] FileContents list_hdf5_contents(const InputFile& file, const WalkProgress& progress);

}  // namespace shale
