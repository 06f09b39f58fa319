#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shale/arrays/array_columns.hpp"
#include "shale/base/events.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// ManifestSource::kind of arrays.
inline constexpr std::string_view kArrays = "arrays";

/// How arrays are read.
struct ArrayRequest {
  ArrayColumns arrays;
  std::string scratch_folder;  ///< for arrays in Fortran order
  std::uint64_t memory_bytes;  ///< for arrays in Fortran order
};

/// The rows of arrays as samples in runs, in C order and little-endian; the key of a row is its
/// number. Opening reads no rows. `events` must outlive the source.
/// Errors: Code::schema for names that no field can have.
[[nodiscard]] std::unique_ptr<Source> open_array_source(ArrayRequest request, const Events& events);

}  // namespace shale
