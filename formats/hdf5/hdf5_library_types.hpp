#pragma once

#include <cstdint>
#include <optional>
#include <string>

// Types as the HDF5 library knows them: numbers are its hid_t. Under lock_hdf5() only.

namespace shale {

/// What a type (an identifier of the library) is to NumPy, byte order included: "<i8", "|b1",
/// "<c8"; nothing for any other.
[[nodiscard]] std::optional<std::string> hdf5_descr_of(std::int64_t type);

/// A copy of a type whose numbers are little-endian, those of an enumeration without their names;
/// negative: it has no byte order.
[[nodiscard]] std::int64_t little_endian_hdf5_type(std::int64_t type);

/// The name of a member of a compound type or an enumeration; empty if there is none.
[[nodiscard]] std::string hdf5_member_name(std::int64_t type, unsigned member);

}  // namespace shale
