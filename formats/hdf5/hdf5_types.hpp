#pragma once

#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/dtype.hpp"

namespace shale {

/// True if a dataset of this element type exists: integers, floats up to 8 bytes, bool, complex.
[[nodiscard]] bool has_hdf5_type(const DType& dtype);

/// The body of the datatype message, as h5py and the library (bounds V18 to V110) write it.
/// Errors: Code::bug if there is none.
[[nodiscard]] std::vector<std::byte> datatype_bytes(const DType& dtype);

/// What the body of a datatype message says, as NumPy would call it: "<i8", "|b1", "<c8"; for
/// anything that shale's shards do not hold, a few words. Never throws for what is in the bytes.
[[nodiscard]] std::string datatype_name(Bytes body);

}  // namespace shale
