#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "shale/data/dtype.hpp"
#include "shale/field.hpp"

namespace shale {

/// A dtype as NumPy prints it: "uint8", "datetime64[ns]"; "bfloat16" and others that it lacks;
/// texts, raw bytes, big-endian and structured types by their description ("<U3", ">f4", "[('a',
/// '<i8')]"). Safe to print.
[[nodiscard]] std::string dtype_text(std::string_view descr);
[[nodiscard]] std::string dtype_text(const DType& dtype);

/// A shape as Python writes it, "()", "(3,)", "(2, 3)", with '?' for a free side: "(?)", "(?, 4)".
[[nodiscard]] std::string shape_text(std::span<const std::uint64_t> shape);

/// "uint8 (32, 32, 3)"; of a scalar "uint8".
[[nodiscard]] std::string array_text(const DType& dtype, std::span<const std::uint64_t> shape);

}  // namespace shale
