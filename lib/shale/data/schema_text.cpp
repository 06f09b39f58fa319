#include "shale/data/schema_text.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/field_type.hpp"

namespace shale {

std::string schema_text(const Schema& schema) {
  const bool says_more = std::ranges::any_of(schema.fields, [](const Field& field) {
    return field.is_optional || field.is_ragged() || field.is_json || field.elements == Kind::text;
  });
  if (!says_more) return {};
  std::string text;
  for (const Field& field : schema.fields)
    text += field.name + '\t' + field_type_text(field) + '\n';
  const std::optional<Schema> read = parse_schema_text(text);
  return read && read->fields == schema.fields ? text : std::string();
}

std::optional<Schema> parse_schema_text(std::string_view text) {
  Schema schema;
  try {
    while (!text.empty()) {
      const std::size_t tab = text.find('\t'), end = text.find('\n');
      if (end == std::string_view::npos || tab > end) return std::nullopt;
      Field field = parse_field_type(text.substr(tab + 1, end - tab - 1));
      field.name = text.substr(0, tab);
      schema.fields.push_back(std::move(field));
      text.remove_prefix(end + 1);
    }
    validate_schema(schema);
  } catch (const Error&) {
    return std::nullopt;
  }
  return schema;
}

}  // namespace shale
