#pragma once

#include "shale/format/format.hpp"

namespace shale {

extern const Format pt_format;

}  // namespace shale
