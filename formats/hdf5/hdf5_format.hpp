#pragma once

#include "shale/format/format.hpp"

namespace shale {

extern const Format hdf5_format;

}  // namespace shale
