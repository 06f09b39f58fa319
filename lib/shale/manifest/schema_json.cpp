#include "shale/manifest/schema_json.hpp"

#include <span>
#include <utility>

namespace shale {
namespace {

// A free side is null.
Json shape_to_json(std::span<const std::uint64_t> shape) {
  Json json = Json::array();
  for (const std::uint64_t side : shape) json.push_back(side == kFreeSide ? Json() : Json(side));
  return json;
}

}  // namespace

Json schema_to_json(const Schema& schema) {
  Json fields = Json::array();
  for (const Field& field : schema.fields) {
    Json json = {{"name", field.name}, {"kind", name_of(field.kind)}};
    if (field.dtype.item_bytes() > 0) json["dtype"] = field.dtype.descr();
    if (field.kind == Kind::tensor) json["shape"] = shape_to_json(field.shape);
    if (field.elements != Kind::bytes) json["elements"] = name_of(field.elements);
    if (field.is_json) json["format"] = "json";
    if (field.is_optional) json["optional"] = true;
    fields.push_back(std::move(json));
  }
  return fields;
}

Schema schema_from_json(const Json& json) {
  Schema schema;
  for (const Json& entry : json) {
    Field field;
    field.name = string_at(entry, "name");
    field.kind = kind_named(text_at(entry, "kind"));
    if (field.kind == Kind::tensor || entry.contains("dtype"))
      field.dtype = DType::parse(text_at(entry, "dtype"));
    if (field.kind == Kind::tensor) {
      for (const Json& side : array_at(entry, "shape")) {
        if (!side.is_null() &&
            (!side.is_number_unsigned() || side.get<std::uint64_t>() == kFreeSide))
          throw Error(Code::damaged, "shape of field '{}' is not numbers", field.name);
        field.shape.push_back(side.is_null() ? kFreeSide : side.get<std::uint64_t>());
      }
    }
    if (entry.contains("elements")) field.elements = kind_named(text_at(entry, "elements"));
    if (entry.contains("format")) field.is_json = text_at(entry, "format") == "json";
    field.is_optional = entry.contains("optional") && flag_at(entry, "optional");
    schema.fields.push_back(std::move(field));
  }
  try {
    validate_schema(schema);
  } catch (const Error& error) {
    throw Error(Code::damaged, "the schema cannot be one: {}", error.message());
  }
  return schema;
}

}  // namespace shale
