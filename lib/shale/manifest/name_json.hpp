#pragma once

#include <string>

#include "shale/manifest/untrusted_json.hpp"

// Names are raw bytes, JSON is UTF-8: a name that is not UTF-8 stands as {"bytes": hex}
// (docs/manifest.md).

namespace shale {

[[nodiscard]] Json name_to_json(const std::string& name);
/// Errors: Code::damaged.
[[nodiscard]] std::string name_from_json(const Json& json);

}  // namespace shale
