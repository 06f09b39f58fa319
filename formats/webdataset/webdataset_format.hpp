#pragma once

#include "shale/format/format.hpp"

namespace shale {

extern const Format webdataset_format;

}  // namespace shale
