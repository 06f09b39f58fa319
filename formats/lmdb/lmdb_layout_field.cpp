#include "formats/lmdb/lmdb_layout_field.hpp"

#include <string>
#include <utility>

#include "shale/data/fixed_value.hpp"

namespace shale::lmdb {

LayoutField placed_field(std::string_view name, Kind kind, const FieldPlace& place) {
  return {.field = {.name = std::string(name), .kind = kind}, .cell = {.place = place}};
}
LayoutField integer_field(std::string_view name, std::int64_t number) {
  return {.field = {.name = std::string(name), .kind = Kind::integer},
          .cell = {.place = {}, .integer = number}};
}
LayoutField real_field(std::string_view name, double number) {
  return {.field = {.name = std::string(name), .kind = Kind::real},
          .cell = {.place = {}, .real = number}};
}

std::optional<LayoutField> array_field(std::string_view name, DType dtype,
                                       std::vector<std::uint64_t> shape, const FieldPlace& data) {
  LayoutField made{.field = {.name = std::string(name), .kind = Kind::tensor}, .cell = {}};
  const bool is_bytes = shape.size() == 1 && dtype == DType::parse("|u1");
  made.field.dtype = std::move(dtype);
  made.field.shape = std::move(shape);
  if (made.field.tensor_bytes() != data.length) return std::nullopt;
  if (is_bytes) made.field = {.name = std::string(name), .kind = Kind::bytes};
  made.cell.place = data;
  return made;
}

std::optional<LayoutField> number_field(std::string_view name, const DType& dtype,
                                        const ViewBytes& view, std::uint64_t offset) {
  constexpr std::uint64_t kLongestNumber = 8;
  const std::optional<Kind> kind = scalar_kind_of(dtype);
  if (!kind || dtype.item_bytes() > kLongestNumber) return std::nullopt;
  const Field stored{.name = std::string(name), .kind = *kind, .dtype = dtype};
  return LayoutField{.field = {.name = std::string(name), .kind = *kind},
                     .cell = read_number(view(offset, dtype.item_bytes()), stored)};
}

void name_image_and_label(std::vector<LayoutField>& components) {
  if (components.size() != 2) return;
  Field &image = components[0].field, &label = components[1].field;
  const bool is_image = image.kind == Kind::bytes || image.kind == Kind::tensor;
  if (!is_image || label.kind != Kind::integer) return;
  image.name = "image";
  label.name = "label";
}

}  // namespace shale::lmdb
