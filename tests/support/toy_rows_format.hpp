#pragma once

#include "shale/format/format.hpp"

namespace shale::test {

/// The least format with fixed rows: a file a field, 16 bytes ("TOYROWS1", u64 rows), then its
/// values. Holds integers, reals and tensors.
extern const Format toy_rows_format;

}  // namespace shale::test
