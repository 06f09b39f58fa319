#include "python/bindings/field_objects.hpp"

#include <utility>

#include <nanobind/stl/string.h>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"

namespace nb = nanobind;

namespace shale::python {

nb::tuple shape_object(const Field& field) {
  nb::list sides;
  for (const std::uint64_t side : field.shape)
    sides.append(side == kFreeSide ? nb::none() : nb::object(nb::int_(side)));
  return nb::tuple(sides);
}

std::vector<std::uint64_t> sides_of(nb::handle shape) {
  std::vector<std::uint64_t> sides;
  for (const nb::handle side : shape)
    sides.push_back(side.is_none() ? kFreeSide : nb::cast<std::uint64_t>(side));
  return sides;
}

nb::dict described(const Field& field, RowStorage rows) {
  nb::dict made;
  made["kind"] = std::string(name_of(field.kind));
  if (const std::optional<DType> dtype = stored_dtype_of(field, rows))
    made["dtype"] = dtype->descr();
  if (rows.has_strides() || field.kind == Kind::tensor) made["shape"] = shape_object(field);
  if (field.is_optional) made["optional"] = true;
  if (field.kind == Kind::list && field.elements != Kind::bytes)
    made["elements"] = std::string(name_of(field.elements));
  if (field.is_json) made["format"] = "json";
  return made;
}

Field field_described(std::string name, nb::handle description) {
  const auto entry = [&](const char* key) {
    const nb::handle found = PyDict_GetItemString(description.ptr(), key);
    return found.is_valid() && !found.is_none() ? found : nb::handle();
  };
  const auto text_of = [&](const char* key) {
    const nb::handle found = entry(key);
    return found.is_valid() ? nb::cast<std::string>(found) : std::string();
  };
  Field field{.name = std::move(name), .kind = kind_named(text_of("kind"))};
  if (const std::string dtype = text_of("dtype"); !dtype.empty()) field.dtype = DType::parse(dtype);
  if (const nb::handle sides = entry("shape"); sides.is_valid()) field.shape = sides_of(sides);
  const nb::handle optional = entry("optional");
  field.is_optional = optional.is_valid() && nb::cast<bool>(optional);
  if (const std::string elements = text_of("elements"); !elements.empty())
    field.elements = kind_named(elements);
  field.is_json = text_of("format") == "json";
  if (is_located(field.kind) || field.dtype.item_bytes() == 0) return field;
  // "<i8" and "<f8" are what an integer and a real have without a dtype.
  Field column = field_of_column(std::move(field.name), field.dtype, {});
  column.is_optional = field.is_optional;
  return column;
}

}  // namespace shale::python
