#include "shale/data/field_type.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/stored_tensor.hpp"

namespace shale {
namespace {

constexpr std::string_view kTypeNames =
    "a type is bytes, text, json, integer, real, a dtype with or without a shape (\"int32\", "
    "\"float32 (3, 224, 224)\", \"float32 (?, 4)\"), \"list of bytes\" or \"list of text\", and "
    "with '?' behind it the value may be absent";

Error not_a_type(std::string_view text) {
  return Error(Code::usage, "'{}' is not the type of a field", printable(text))
      .hint(std::string(kTypeNames));
}

// What has a kind of its own, under all of its names.
struct NamedType {
  std::string_view names;
  Field field;
};
std::optional<Field> named_type(std::string_view name) {
  static const NamedType kNamed[] = {
      {" bytes bin blob jpeg jpg png webp gif image pil audio video ",
       {.name = {}, .kind = Kind::bytes}},
      {" text str string utf8 ", {.name = {}, .kind = Kind::text}},
      {" json dict ", {.name = {}, .kind = Kind::text, .is_json = true}},
      {" integer int long ", {.name = {}, .kind = Kind::integer}},
      {" real float double ", {.name = {}, .kind = Kind::real}},
      {" list ", {.name = {}, .kind = Kind::list}},
  };
  const std::string word = fmt::format(" {} ", name);
  for (const NamedType& each : kNamed) {
    if (name.find(' ') == std::string_view::npos && each.names.find(word) != std::string_view::npos)
      return each.field;
  }
  return std::nullopt;
}

// "float32", "np.float32", "<f4", "datetime64[ns]".
std::optional<DType> dtype_named(std::string_view name) {
  for (const std::string_view module : {"numpy.", "np.", "torch."}) {
    if (name.starts_with(module)) name.remove_prefix(module.size());
  }
  static constexpr std::pair<std::string_view, char> kKinds[] = {
      {"float", 'f'},   {"uint", 'u'},       {"int", 'i'},
      {"complex", 'c'}, {"datetime64", 'M'}, {"timedelta64", 'm'}};
  std::string descr(name);
  if (name == "bool" || name == "bool_") descr = "|b1";
  if (const std::string_view raw = raw_dtype_descr(name); !raw.empty()) descr = raw;
  for (const auto& [word, letter] : kKinds) {
    if (!name.starts_with(word) || descr != name) continue;
    const std::string_view rest = name.substr(word.size());
    if (letter == 'M' || letter == 'm') {
      descr = fmt::format("<{}8{}", letter, rest);
      break;
    }
    unsigned bits = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), bits);
    if (rest.empty() || parsed.ptr != rest.data() + rest.size() || bits % 8 != 0)
      return std::nullopt;
    descr = fmt::format("{}{}{}", bits == 8 ? '|' : '<', letter, bits / 8);
    break;
  }
  try {
    return DType::parse(descr);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// "(?, 4)", "(3,)", "()"; nullopt for anything else.
std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::uint64_t> shape;
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view side = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (side == "?" || side == "None" || side == "-1") {
      shape.push_back(kFreeSide);
      continue;
    }
    std::uint64_t length = 0;
    const auto parsed = std::from_chars(side.data(), side.data() + side.size(), length);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == side.data() + side.size();
    if (!is_number || length == kFreeSide) return std::nullopt;
    shape.push_back(length);
  }
  return shape;
}

// "int32", "float32 (?, 4)".
std::optional<Field> array_type(std::string_view text) {
  const std::size_t bracket = std::min(text.find('('), text.size());
  const std::optional<DType> dtype = dtype_named(trimmed(text.substr(0, bracket)));
  if (!dtype) return std::nullopt;
  if (bracket == text.size()) return field_of_column({}, *dtype, {});
  const auto shape = parse_shape(trimmed(text.substr(bracket)));
  if (!shape) return std::nullopt;
  return field_of_column({}, *dtype, *shape);
}

// What follows "list of", or is in "list[...]".
std::optional<std::string_view> element_type(std::string_view text) {
  if (text.starts_with("list of ")) return trimmed(text.substr(8));
  for (const std::string_view list : {"list[", "List[", "tuple[", "sequence[", "Sequence["}) {
    if (text.starts_with(list) && text.ends_with(']'))
      return trimmed(text.substr(list.size(), text.size() - list.size() - 1));
  }
  return std::nullopt;
}

std::optional<Field> list_type(std::string_view elements) {
  std::optional<Field> element = named_type(elements);
  if (!element) element = array_type(elements);
  if (!element || element->is_json) return std::nullopt;
  if (element->kind == Kind::bytes) return Field{.name = {}, .kind = Kind::list};
  if (element->kind == Kind::text)
    return Field{.name = {}, .kind = Kind::list, .elements = Kind::text};
  if (element->kind == Kind::list || element->is_ragged()) return std::nullopt;
  // A list of numbers is a tensor of one free side, one of rows a tensor of rows.
  Field tensor{
      .name = {}, .kind = Kind::tensor, .dtype = dtype_of_column(*element), .shape = {kFreeSide}};
  tensor.shape.insert(tensor.shape.end(), element->shape.begin(), element->shape.end());
  return tensor;
}

}  // namespace

std::string field_type_text(const Field& field) {
  std::string text;
  if (field.is_json) {
    text = "json";
  } else if (field.kind == Kind::list) {
    text = field.elements == Kind::text ? "list of text" : "list";
  } else if (field.dtype.item_bytes() > 0) {
    text = array_text(field.dtype, field.shape);
    if (field.kind == Kind::tensor && field.shape.empty()) text += " ()";
  } else {
    text = name_of(field.kind);
  }
  return field.is_optional ? text + "?" : text;
}

std::string field_text(const Field& field) {
  const std::string name = printable(field.name), type = field_type_text(field);
  return field.dtype.item_bytes() == 0 ? fmt::format("{} ({})", name, type)
                                       : fmt::format("{} {}", name, type);
}

std::string fields_text(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields) text += (text.empty() ? "" : ", ") + field_text(field);
  return text;
}

Field parse_field_type(std::string_view text) {
  std::string_view left = trimmed(text);
  const bool is_optional = left.ends_with('?');
  if (is_optional) left = trimmed(left.substr(0, left.size() - 1));
  std::optional<Field> field;
  if (const auto elements = element_type(left)) {
    field = list_type(*elements);
  } else {
    field = named_type(left);
    if (!field) field = array_type(left);
  }
  if (!field) throw not_a_type(text);
  field->is_optional = is_optional;
  return *std::move(field);
}

}  // namespace shale
