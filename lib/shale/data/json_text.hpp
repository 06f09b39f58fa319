#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// What is wrong with a string that is to be JSON (RFC 8259), and at which byte; nullopt if nothing
/// is. Nothing of it is kept, and its nesting costs a bit a level.
[[nodiscard]] std::optional<std::string> json_fault(std::string_view text);

/// A string as JSON has it, between quotation marks. Only what JSON demands is escaped: other bytes
/// stay as they are, so what is not UTF-8 is not JSON.
[[nodiscard]] std::string json_quoted(std::string_view text);

/// A value of a JSON document.
struct JsonValue {
  enum class Type { null, boolean, number, string, array, object };
  Type type = Type::null;
  std::string text = {};                 ///< of a string; of a number and a boolean as JSON has it
  std::vector<JsonValue> elements = {};  ///< of an array, or of an object with their names
  std::vector<std::string> names = {};

  /// The element of this name, the last one; null for none, and for all but objects.
  [[nodiscard]] const JsonValue* find(std::string_view name) const;
};
/// nullopt for what is not JSON, nests its values more than 64 deep or has more than 65536.
[[nodiscard]] std::optional<JsonValue> parse_json(std::string_view text);

}  // namespace shale
