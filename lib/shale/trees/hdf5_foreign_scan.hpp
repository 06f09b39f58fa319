#pragma once

#include <functional>

#include "shale/format/format.hpp"
#include "shale/io/input_file.hpp"
#include "shale/trees/hdf5_description.hpp"

// Format::survey and Format::scan of a file that another tool made, once it is described.

namespace shale {

/// Of demonstrations, step by step (hdf5_steps.hpp).
[[nodiscard]] Survey survey_hdf5_steps(Hdf5Description description, const InputFile& file);

/// Of the datasets of one table (hdf5_foreign_columns.hpp). Reads offsets, and strings whether they
/// are UTF-8, but no other payload. Errors: Code::unsupported, by dataset and reason, for what
/// cannot be located; Code::damaged, Code::limit, Code::io.
[[nodiscard]] Survey survey_hdf5_columns(Hdf5Description description, const InputFile& file,
                                         const WalkProgress& progress);

/// Rows of such a file, which has one part. What `describe` throws about bytes is a finding.
/// Errors: Code::io.
void scan_described_hdf5(const ShardInput& input, const std::function<Hdf5Description()>& describe,
                         const RowSink& rows, const FindingSink& findings);

}  // namespace shale
