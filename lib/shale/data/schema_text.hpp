#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shale/data/schema.hpp"

// A schema as a container holds it beside its values, where these alone do not say it: a line per
// field, "name<TAB>type<LF>", with types as field_type.hpp spells them.

namespace shale {

/// Empty for a schema that values alone give back: of fields that every sample has, in one shape,
/// and of no JSON and lists of text. Empty too where the types do not say everything.
[[nodiscard]] std::string schema_text(const Schema& schema);

/// The schema that such a string describes; nullopt for any other bytes.
[[nodiscard]] std::optional<Schema> parse_schema_text(std::string_view text);

}  // namespace shale
