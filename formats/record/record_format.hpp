#pragma once

#include "shale/format/format.hpp"

namespace shale {

extern const Format record_format;

}  // namespace shale
