#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shale/format/format.hpp"
#include "shale/trees/hdf5_elements.hpp"
#include "shale/trees/hdf5_metadata.hpp"

// The attribute of a label's dataset that has the class names. FORMAT.md, "class names".

namespace shale {

/// The object header that `header` makes of its attributes, with the names, and the heap that they
/// lie in: what is written at this byte of the file, a multiple of 8.
[[nodiscard]] std::vector<std::byte> named_header_bytes(
    std::uint64_t address, std::span<const std::string> names,
    const std::function<std::vector<std::byte>(std::span<const HeaderMessage>)>& header);

/// Names are read only as they are written here. Memory: the header and the heap, 256 KiB and what
/// the file has.
extern const ClassPlace hdf5_class_place;

}  // namespace shale
