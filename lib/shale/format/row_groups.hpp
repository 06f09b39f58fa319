#pragma once

#include <string_view>

namespace shale {

/// The option of a format that bounds what it holds together before it writes it, and what readers
/// load as a whole: --row-group-size of convert.
inline constexpr std::string_view kRowGroupOption = "row_group_size";

}  // namespace shale
