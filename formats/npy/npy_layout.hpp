#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// One file a field, fixed rows, no keys. Errors: Code::unsupported, by field, for one whose name
/// is too long for a file's.
[[nodiscard]] ShardLayout npy_layout(const Schema& schema, const OptionSet& options);

}  // namespace shale
