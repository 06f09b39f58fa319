#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shale/base/bytes.hpp"

namespace shale {

/// What a type (an identifier of the library) is to NumPy, byte order included: "<i8", "|b1",
/// "<c8"; nothing for any other. Under lock_hdf5() only.
[[nodiscard]] std::optional<std::string> hdf5_descr_of(std::int64_t type);

/// Opens an HDF5 file through the library and sends the messages of its description
/// (hdf5_description.hpp). Only for a child process that has nothing to lose (hdf5_probe.hpp): the
/// library is not proof against hostile files. Reads no sample.
/// Errors: Code::damaged with the library's innermost message as cause; Code::unsupported for a
/// version that this library does not know, and for a root of more objects than a set of columns
/// has.
void describe_hdf5_file(const std::string& path, const std::function<void(Bytes)>& send);

}  // namespace shale
