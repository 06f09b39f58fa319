#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// One file per field, fixed rows, no keys. Errors: Code::unsupported, by field, for a name that is
/// too long for a file's and for a tensor of more than 63 axes; for samples without fields.
[[nodiscard]] ShardLayout npy_layout(const Schema& schema, const OptionSet& options);

}  // namespace shale
