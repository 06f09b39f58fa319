#pragma once

#include "shale/format/format.hpp"

namespace shale {

extern const Format safetensors_format;

}  // namespace shale
