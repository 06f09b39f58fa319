#pragma once

#include "shale/format/format.hpp"

#include "formats/hdf5/hdf5_steps.hpp"

namespace shale {

/// As Format::survey, of a file in robomimic's layout. Errors: same as check_steps_lie_in_place.
[[nodiscard]] Survey survey_hdf5_steps(const Hdf5Steps& steps, const InputFile& file);

/// As Format::scan, of a file that survey_hdf5_steps described.
void scan_hdf5_steps(const ShardInput& input, const RowSink& rows, const FindingSink& findings);

}  // namespace shale
