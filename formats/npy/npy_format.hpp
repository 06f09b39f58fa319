#pragma once

#include "shale/format/format.hpp"

namespace shale {

extern const Format npy_format;

}  // namespace shale
