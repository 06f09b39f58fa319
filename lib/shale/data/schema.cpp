#include "shale/data/schema.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"

namespace shale {
namespace {

constexpr std::string_view kKindNames[] = {"bytes", "text", "integer", "real", "tensor", "list"};

// Names that the index or the command line uses itself.
constexpr std::string_view kReservedNames[] = {"offset", "length", "crc32c", "key_hash",
                                               "key",    "record", "index",  "blocks"};
constexpr std::size_t kMostNameBytes = 255;

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What is wrong with the characters of a field's name; empty if nothing.
std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMostNameBytes) return "is longer than 255 bytes";
  if (!is_utf8(name)) return "is not UTF-8";
  if (name.find_first_of("./") != std::string_view::npos) return "contains '.' or '/'";
  // What is printed escaped, but for the backslash.
  std::string plain(name);
  std::erase(plain, '\\');
  if (printable(plain) != plain) return "contains a control character";
  return {};
}

}  // namespace

std::optional<Kind> scalar_kind_of(const DType& dtype) {
  const std::string& descr = dtype.descr();
  if (descr.size() != 3) return std::nullopt;
  switch (descr[1]) {
    case 'b':
    case 'i':
      return Kind::integer;
    case 'u':
      return descr[2] == '8' ? std::nullopt : std::optional(Kind::integer);
    case 'f':
      return descr[2] == '4' || descr[2] == '8' ? std::optional(Kind::real) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::string_view name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

Kind kind_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kKindNames); ++i) {
    if (kKindNames[i] == name) return static_cast<Kind>(i);
  }
  throw Error(Code::damaged, "unknown field kind '{}'", printable(name));
}

std::uint64_t Field::tensor_bytes() const {
  // One side of no length leaves nothing, however long the others are.
  if (std::find(shape.begin(), shape.end(), std::uint64_t{0}) != shape.end()) return 0;
  constexpr std::uint64_t kLimit = ~std::uint64_t{0} >> 1;
  std::uint64_t bytes = dtype.item_bytes();
  for (const std::uint64_t side : shape) {
    if (bytes > kLimit / side) {
      throw Error(Code::limit, "field '{}': a tensor of its shape has more than 2^63 bytes",
                  printable(name));
    }
    bytes *= side;
  }
  return bytes;
}

bool Schema::has_lists() const {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& field) { return field.kind == Kind::list; });
}

std::optional<std::size_t> Schema::find(std::string_view name) const {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  return std::nullopt;
}

bool is_reserved_name(std::string_view name) { return is_among(kReservedNames, name); }

void validate_schema(const Schema& schema, std::span<const std::string_view> also_reserved) {
  if (schema.fields.empty()) throw Error(Code::schema, "a sample needs at least one field");
  std::set<std::string_view> names;
  for (const Field& field : schema.fields) {
    const std::string shown = printable(field.name);
    if (const std::string_view fault = name_fault(field.name); !fault.empty()) {
      throw Error(Code::schema, "field name '{}' {}", shown, fault).hint("rename the field");
    }
    if (is_reserved_name(field.name)) {
      throw Error(Code::schema, "field name '{}' is reserved by the index", shown)
          .hint(
              "rename the field; reserved are: offset length crc32c key_hash key record index "
              "blocks");
    }
    if (is_among(also_reserved, field.name)) {
      throw Error(Code::schema, "field name '{}' is reserved by the format", shown)
          .hint("rename the field, or choose another format");
    }
    if (!names.insert(field.name).second) {
      throw Error(Code::schema, "field '{}' occurs twice", shown).hint("rename one of the two");
    }
    if (field.kind == Kind::tensor && field.dtype.item_bytes() == 0) {
      throw Error(Code::schema, "field '{}' is a tensor without dtype", shown);
    }
    if (field.dtype.item_bytes() > 0 && !is_located(field.kind) &&
        scalar_kind_of(field.dtype) != field.kind) {
      throw Error(Code::schema, "field '{}' is of kind {} and dtype {}", shown, name_of(field.kind),
                  dtype_text(field.dtype));
    }
  }
}

}  // namespace shale
