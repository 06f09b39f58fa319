#include "shale/trees/hdf5_elements.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

// For what is located, but has no meaning here.
Error cannot_hold_error(const Hdf5Dataset& dataset, std::string_view reason) {
  Error error(Code::unsupported, "dataset '{}' {}, which no field can hold",
              printable(dataset.name), reason);
  error.hint("write it as numbers, strings or sequences of numbers");
  return error;
}

void check_vlen(const Hdf5Description& all, const Hdf5Dataset& dataset) {
  if (!dataset.has_shape || dataset.shape.size() != 1) {
    throw cannot_hold_error(dataset, fmt::format("holds several sequences per sample, shape {}",
                                                 shape_text(dataset.shape)));
  }
  if (all.address_bytes == 8 && all.length_bytes == 8) return;
  throw cannot_hold_error(
      dataset, fmt::format("refers to its values with addresses of {} and lengths of {} bytes",
                           all.address_bytes, all.length_bytes));
}

}  // namespace

DType native_dtype(const Hdf5Dataset& dataset) {
  std::string descr = dataset.descr;
  if (descr.starts_with('>')) descr[0] = '<';
  return DType::parse(descr);
}

bool is_column_dataset(const Hdf5Dataset& dataset) {
  return dataset.storage == Hdf5Storage::composed || !dataset.shape.empty();
}

void check_hdf5_elements(const Hdf5Description& description, const Hdf5Dataset& dataset) {
  if (dataset.has_variable_length()) return check_vlen(description, dataset);
  if (dataset.type == Hdf5Type::other)
    throw cannot_hold_error(dataset, "holds " + dataset.type_name);
  (void)hdf5_field_of(dataset);
}

std::optional<Error> hdf5_elements_fault(const Hdf5Description& description,
                                         const Hdf5Dataset& dataset) {
  // Of what is composed of other datasets only the elements are known.
  if (dataset.shape.empty() && dataset.type != Hdf5Type::other) return std::nullopt;
  try {
    check_hdf5_elements(description, dataset);
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
    return error;
  }
}

bool is_taken(const Hdf5Description& description, const Hdf5Dataset& dataset) {
  return is_column_dataset(dataset) && !hdf5_elements_fault(description, dataset);
}

std::vector<std::string> class_names_of(const Hdf5Dataset& dataset) {
  std::vector<std::string> classes;
  if (dataset.field_name() != "label" || dataset.all_sides().size() != 1) return classes;
  for (const auto& [number, name] : dataset.names) {
    if (number != static_cast<std::int64_t>(classes.size())) return {};
    classes.push_back(name);
  }
  return classes;
}

Field hdf5_field_of(const Hdf5Dataset& dataset) {
  Field field;
  try {
    const std::vector<std::uint64_t> sides = dataset.all_sides();
    field = field_of_column(dataset.field_name(), native_dtype(dataset),
                            {sides.begin() + 1, sides.end()});
    if (field.kind == Kind::tensor) (void)field.tensor_bytes();
  } catch (const Error& error) {
    throw cannot_hold_error(dataset, "holds elements that have no dtype: " + error.message());
  }
  return field;
}

std::string hdf5_type_text(const Hdf5Dataset& of) {
  switch (of.type) {
    case Hdf5Type::number:
      return dtype_text(of.descr);
    case Hdf5Type::fixed_text:
      return fmt::format("strings of {} bytes", of.descr.substr(2));
    case Hdf5Type::vlen_bytes:
      return "sequences of bytes";
    case Hdf5Type::vlen_numbers:
      return fmt::format("sequences of {}", dtype_text(of.descr));
    case Hdf5Type::vlen_text:
      return "text";
    case Hdf5Type::other:
      break;
  }
  return of.type_name;
}

bool is_hdf5_bookkeeping(std::string_view name) {
  constexpr std::string_view kNames[] = {"CLASS",
                                         "NAME",
                                         "DIMENSION_LIST",
                                         "DIMENSION_LABELS",
                                         "REFERENCE_LIST",
                                         "VERSION",
                                         "TITLE",
                                         "FLAVOR",
                                         "NROWS",
                                         "EXTDIM",
                                         "PYTABLES_FORMAT_VERSION",
                                         "_FillValue",
                                         "_NCProperties",
                                         "_NCCoordinates",
                                         "_Netcdf4Dimid",
                                         "_Netcdf4Coordinates",
                                         "_nc3_strict",
                                         "H5PATH",
                                         "pandas_type",
                                         "pandas_version",
                                         "encoding",
                                         "errors",
                                         "keras_version",
                                         "backend"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name == kSchemaAttribute ||
         name.starts_with("MATLAB_") || name.starts_with("FIELD_");
}

}  // namespace shale
