#pragma once

#include <optional>
#include <string_view>

#include "shale/data/json_text.hpp"

namespace shale {

/// A YAML document, as JSON would have it: mappings are objects, and every scalar is a string as it
/// is written. nullopt for what is not YAML, has aliases or keys that are not scalars, nests more
/// than 64 deep or has more than 65536 values.
[[nodiscard]] std::optional<JsonValue> parse_yaml(std::string_view text);

}  // namespace shale
