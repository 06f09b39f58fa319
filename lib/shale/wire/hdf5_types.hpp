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

/// The same for what shale's own shards do not hold: strings of one length, padded with NULs;
/// sequences of uint8 or strings of any length, which lie in the global heap; NumPy's times as h5py
/// stores them, by their dtype ("<M8[ns]").
[[nodiscard]] std::vector<std::byte> fixed_text_type_bytes(std::uint64_t bytes);
[[nodiscard]] std::vector<std::byte> vlen_type_bytes(bool is_text);
/// Sequences of elements of this type.
[[nodiscard]] std::vector<std::byte> vlen_type_bytes(Bytes elements);
[[nodiscard]] std::vector<std::byte> time_type_bytes(const std::string& descr);

/// What the body of a datatype message says, as NumPy would call it: "<i8", "|b1", "<c8"; for
/// anything that shale's shards do not hold, a few words. Never throws for what is in the bytes.
[[nodiscard]] std::string datatype_name(Bytes body);

}  // namespace shale
