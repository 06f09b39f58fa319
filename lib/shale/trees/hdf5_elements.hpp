#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/dtype.hpp"
#include "shale/data/schema.hpp"
#include "shale/trees/hdf5_description.hpp"

// What the elements of a dataset are as a field.

namespace shale {

/// The attribute of a label's dataset that has the class names: FORMAT.md, "class names".
inline constexpr std::string_view kClassNamesAttribute = "classes";

/// The attribute of the root group that says what the datasets do not: schema_text() of the fields.
inline constexpr std::string_view kSchemaAttribute = "shale_schema";
/// Whether an attribute is one of those that the libraries of HDF5, h5py, PyTables, pandas, netCDF,
/// MATLAB and Keras keep their books with: it says nothing of the samples.
[[nodiscard]] bool is_hdf5_bookkeeping(std::string_view name);

/// The type in words: "float32", "text", "a reference".
[[nodiscard]] std::string hdf5_type_text(const Hdf5Dataset& of);

/// Whether a dataset has rows: the others are left out.
[[nodiscard]] bool is_column_dataset(const Hdf5Dataset& dataset);
/// Why no field can hold its elements, as an error of Code::unsupported; nullopt: one can.
[[nodiscard]] std::optional<Error> hdf5_elements_fault(const Hdf5Description& description,
                                                       const Hdf5Dataset& dataset);
/// Whether a dataset can be a field, or part of one: it has rows that a field can hold.
[[nodiscard]] bool is_taken(const Hdf5Description& description, const Hdf5Dataset& dataset);
/// Of an enumeration of 0, 1, 2 ... called `label`, the class table that it is; else empty.
[[nodiscard]] std::vector<std::string> class_names_of(const Hdf5Dataset& dataset);

/// Errors: Code::unsupported, by dataset, for elements that no field can hold.
void check_hdf5_elements(const Hdf5Description& description, const Hdf5Dataset& dataset);

/// A dataset of rows, of any kind but variable length, as a field of its name. Errors:
/// Code::unsupported, by dataset, for elements that no field can hold.
[[nodiscard]] Field hdf5_field_of(const Hdf5Dataset& dataset);
/// The dtype of its elements where bytes have the order that shale keeps them in.
[[nodiscard]] DType native_dtype(const Hdf5Dataset& dataset);

}  // namespace shale
