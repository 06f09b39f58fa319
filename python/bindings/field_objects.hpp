#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "shale/data/row_storage.hpp"
#include "shale/data/schema.hpp"

namespace shale::python {

/// What Dataset.schema has of a field: {"kind": "tensor", "dtype": "<f4", "shape": (None, 4)}, and
/// where it is so "optional": True, "elements": "text" of a list, "format": "json".
[[nodiscard]] nanobind::dict described(const Field& field, RowStorage rows);
/// The field that such a dictionary describes. Errors: Code::usage; those of DType::parse.
[[nodiscard]] Field field_described(std::string name, nanobind::handle description);
/// "(?, 4)" as Python has it, (None, 4), and back.
[[nodiscard]] nanobind::tuple shape_object(const Field& field);
[[nodiscard]] std::vector<std::uint64_t> sides_of(nanobind::handle shape);

}  // namespace shale::python
