#pragma once

#include "shale/data/schema.hpp"
#include "shale/manifest/untrusted_json.hpp"

namespace shale {

/// The member "schema" of a manifest: docs/manifest.md.
[[nodiscard]] Json schema_to_json(const Schema& schema);
/// And back. Errors: Code::damaged.
[[nodiscard]] Schema schema_from_json(const Json& json);

}  // namespace shale
