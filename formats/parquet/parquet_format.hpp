#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// Apache Parquet. FORMAT.md beside this file describes it.
extern const Format parquet_format;

}  // namespace shale
