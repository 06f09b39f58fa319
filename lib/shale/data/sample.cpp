#include "shale/data/sample.hpp"

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

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
  throw Error(Code::bug, "field of kind text: {} bytes were not read", text.size());
}

void check_value(const Value& value, const Field& field) {
  if (held_index(value) != value_index(field.kind)) {
    throw Error(Code::schema, "field '{}' holds {}, expected kind {}", printable(field.name),
                kValueNames[value.index()], name_of(field.kind));
  }
  if (field.kind == Kind::tensor) {
    const std::uint64_t found = run_of(value).size(), expected = field.tensor_bytes();
    if (found != expected) {
      throw Error(Code::schema, "field '{}' is a tensor of {} bytes, expected {}",
                  printable(field.name), found, expected)
          .hint(
              "all samples of a tensor field have one dtype and shape; pad them, or store them as "
              "bytes");
    }
  }
  if (field.kind == Kind::text && !is_utf8_text(run_of(value))) {
    throw Error(Code::schema, "field '{}' is text, but its bytes are not UTF-8",
                printable(field.name))
        .hint("store the field as bytes, or re-encode it as UTF-8");
  }
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
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const bool is_absent = std::holds_alternative<std::monostate>(sample.values[i]);
      if (!is_absent || !may_lack_values) check_value(sample.values[i], schema.fields[i]);
    }
  } catch (Error& error) {
    error.for_sample(sample.key);
    throw;
  }
}

}  // namespace shale
