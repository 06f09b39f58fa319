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
  if (name.find('.') != std::string_view::npos) return "contains '.'";
  // What is printed escaped, but for the backslash.
  std::string plain(name);
  std::erase(plain, '\\');
  if (printable(plain) != plain) return "contains a control character";
  return {};
}

Error too_large(Code code, std::string_view field) {
  return Error(code, "field '{}': a tensor of its shape has more than 2^63 bytes",
               printable(field));
}

// Nullopt: more than 63 bits.
std::optional<std::uint64_t> bytes_of(std::uint64_t item, std::span<const std::uint64_t> shape) {
  // One side of no length leaves nothing, however long the others are.
  if (std::find(shape.begin(), shape.end(), std::uint64_t{0}) != shape.end()) return 0;
  constexpr std::uint64_t kLimit = ~std::uint64_t{0} >> 1;
  std::uint64_t bytes = item;
  for (const std::uint64_t side : shape) {
    if (bytes > kLimit / side) return std::nullopt;
    bytes *= side;
  }
  return bytes;
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

bool Field::is_ragged() const {
  return kind == Kind::tensor && std::find(shape.begin(), shape.end(), kFreeSide) != shape.end();
}

bool Field::has_fixed_size() const {
  return !is_optional && (kind == Kind::tensor ? !is_ragged() : !is_located(kind));
}

std::uint64_t Field::tensor_bytes(std::span<const std::uint64_t> of_shape) const {
  if (const auto bytes = bytes_of(dtype.item_bytes(), of_shape)) return *bytes;
  throw too_large(Code::limit, name);
}

bool Field::takes_tensor(std::span<const std::uint64_t> of_shape, std::uint64_t bytes) const {
  return shape_fits(of_shape, shape) && bytes_of(dtype.item_bytes(), of_shape) == bytes;
}

std::span<const std::uint64_t> ShapeWalk::take(const Field& field) {
  if (left_.size() < field.shape.size())
    throw Error(Code::bug, "field '{}': the sides of its shape are missing", printable(field.name));
  const auto shape = left_.first(field.shape.size());
  left_ = left_.subspan(field.shape.size());
  return shape;
}

bool Schema::has_lists() const {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& field) { return field.kind == Kind::list; });
}

std::size_t Schema::ragged_axes() const {
  std::size_t axes = 0;
  for (const Field& field : fields) axes += field.is_ragged() ? field.shape.size() : 0;
  return axes;
}

bool shape_fits(std::span<const std::uint64_t> shape, std::span<const std::uint64_t> described) {
  return std::ranges::equal(shape, described, [](std::uint64_t side, std::uint64_t expected) {
    return expected == kFreeSide ? side != kFreeSide : side == expected;
  });
}

bool Schema::has_optional() const {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& field) { return field.is_optional; });
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
    if (field.kind == Kind::tensor && !field.is_ragged() &&
        !bytes_of(field.dtype.item_bytes(), field.shape))
      throw too_large(Code::schema, field.name);
    if (field.elements != Kind::bytes &&
        (field.kind != Kind::list || field.elements != Kind::text)) {
      throw Error(Code::schema, "field '{}' is of kind {} with elements of kind {}", shown,
                  name_of(field.kind), name_of(field.elements));
    }
    if (field.is_json && field.kind != Kind::text)
      throw Error(Code::schema, "field '{}' is of kind {}, which is not JSON's", shown,
                  name_of(field.kind));
    if (field.dtype.item_bytes() > 0 && !is_located(field.kind) &&
        scalar_kind_of(field.dtype) != field.kind) {
      throw Error(Code::schema, "field '{}' is of kind {} and dtype {}", shown, name_of(field.kind),
                  dtype_text(field.dtype));
    }
  }
}

}  // namespace shale
