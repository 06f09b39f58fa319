#pragma once

#include <string>
#include <string_view>

namespace shale {

/// The name of the field that has what others call so: `image/encoded` is `image_encoded`, what the
/// index reserves has a `_` behind it. It may still be none that a schema takes.
[[nodiscard]] std::string field_name_of(std::string_view name);

}  // namespace shale
