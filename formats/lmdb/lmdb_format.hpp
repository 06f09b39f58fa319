#pragma once

#include "shale/format/format.hpp"

namespace shale {

extern const Format lmdb_format;

}  // namespace shale
