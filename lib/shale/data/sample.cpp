#include "shale/data/sample.hpp"

#include <optional>
#include <string>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/json_text.hpp"

namespace shale {
namespace {

// What a Value holds, by its index().
constexpr std::string_view kValueNames[] = {"bytes",   "an integer", "a real", "a list",
                                            "nothing", "bytes",      "a list"};

// Of values in memory.
std::size_t value_index(Kind kind) {
  switch (kind) {
    case Kind::integer:
      return 1;
    case Kind::real:
      return 2;
    case Kind::list:
      return 3;
    case Kind::bytes:
    case Kind::text:
    case Kind::tensor:
      break;
  }
  return 0;
}

// The same for a value that is not.
std::size_t held_index(const Value& value) {
  if (std::holds_alternative<Unread>(value)) return 0;
  if (std::holds_alternative<std::vector<Unread>>(value)) return 3;
  return value.index();
}

bool is_utf8_text(const AnyBytes& text) {
  if (text.unread() == nullptr) return is_utf8(as_text(text.held()));
  throw Error(Code::bug, "{} bytes of text were not read", text.size());
}

void check_json(std::string_view text, const Field& field) {
  const std::optional<std::string> fault = json_fault(text);
  if (!fault) return;
  throw Error(Code::schema, "field '{}' is JSON, but {}", printable(field.name), *fault)
      .hint("correct the value, or store the field as text");
}

void check_text(const AnyBytes& text, const Field& field,
                std::optional<std::uint64_t> element = {}) {
  if (is_utf8_text(text)) return;
  throw Error(Code::schema, "field '{}' is text, but its bytes are not UTF-8{}",
              printable(field.name), element ? fmt::format(", in element {}", *element) : "")
      .hint("store the field as bytes, or re-encode it as UTF-8");
}

void check_texts(const Value& list, const Field& field) {
  for (std::uint64_t i = 0; i < count_elements(list); ++i)
    check_text(element_of(list, i), field, i);
}

// Of a tensor whose samples have shapes of their own.
void check_shape(std::span<const std::uint64_t> shape, const Field& field) {
  if (shape_fits(shape, field.shape)) return;
  throw Error(Code::schema, "field '{}' has the shape {}, expected {}", printable(field.name),
              shape_text(shape), shape_text(field.shape));
}

void check_value(const Value& value, const Field& field, std::span<const std::uint64_t> shape) {
  if (held_index(value) != value_index(field.kind)) {
    throw Error(Code::schema, "field '{}' holds {}, expected kind {}", printable(field.name),
                kValueNames[value.index()], name_of(field.kind));
  }
  if (field.kind == Kind::tensor) {
    if (field.is_ragged()) check_shape(shape, field);
    const std::uint64_t found = run_of(value).size(), expected = field.tensor_bytes(shape);
    if (found != expected) {
      throw Error(Code::schema, "field '{}' is a tensor of {} bytes, expected {}",
                  printable(field.name), found, expected)
          .hint(
              "a side that differs from sample to sample is '?' in the schema: \"float32 (?, 4)\"");
    }
  }
  if (field.kind == Kind::text) check_text(run_of(value), field);
  if (field.is_json) check_json(as_text(run_of(value).held()), field);
  if (field.elements == Kind::text) check_texts(value, field);
}

}  // namespace

AnyBytes run_of(const Value& value) {
  if (const Unread* unread = std::get_if<Unread>(&value)) return *unread;
  return std::get<Bytes>(value);
}

std::uint64_t count_elements(const Value& list) {
  if (const auto* unread = std::get_if<std::vector<Unread>>(&list)) return unread->size();
  return std::get<std::vector<Bytes>>(list).size();
}

AnyBytes element_of(const Value& list, std::uint64_t number) {
  if (const auto* unread = std::get_if<std::vector<Unread>>(&list)) return (*unread)[number];
  return std::get<std::vector<Bytes>>(list)[number];
}

std::uint64_t payload_bytes_of(const Value& value) {
  if (const Bytes* run = std::get_if<Bytes>(&value)) return run->size();
  if (const Unread* run = std::get_if<Unread>(&value)) return (*run)->size();
  std::uint64_t bytes = 0;
  if (const auto* list = std::get_if<std::vector<Bytes>>(&value)) {
    for (const Bytes element : *list) bytes += element.size();
  } else if (const auto* unread = std::get_if<std::vector<Unread>>(&value)) {
    for (const Unread& element : *unread) bytes += element->size();
  }
  return bytes;
}

void check_sample(const Sample& sample, const Schema& schema, bool may_lack_values) {
  try {
    if (sample.values.size() != schema.fields.size()) {
      throw Error(Code::schema, "{} fields found, expected {}", sample.values.size(),
                  schema.fields.size());
    }
    ShapeWalk shapes(sample.sides);
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      const bool is_absent = std::holds_alternative<std::monostate>(sample.values[i]);
      const auto shape = shapes.next(field);
      if (!is_absent || !(field.is_optional || may_lack_values))
        check_value(sample.values[i], field, shape);
    }
  } catch (Error& error) {
    error.for_sample(sample.key);
    throw;
  }
}

}  // namespace shale
