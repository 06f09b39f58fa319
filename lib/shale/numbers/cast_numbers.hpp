#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "shale/base/bytes.hpp"
#include "shale/data/dtype.hpp"

namespace shale {

/// The numbers of an array that another type does not hold.
struct Unfit {
  std::uint64_t count = 0;
  std::size_t first = 0;  ///< number of the element; of no meaning if there is none
};

/// Elements of one type as those of another, little-endian both: of the pairs of types that
/// is_castable() names. `into`: as many elements.
/// An integer fits where it is held exactly, a float in an integer if it is whole and in range; a
/// float in a shorter one is rounded once (half to even), and fits unless a finite number becomes
/// infinite, or NaN where the type has no infinity. A complex number fits if both parts do; a time
/// if it is a whole count of the other unit.
/// What does not fit becomes the nearest integer in range, its fraction cut off, NaN 0; the nearest
/// float, or what IEEE rounding makes of it; true for bool; the last whole count before it.
/// Errors: Code::bug for other types.
/// Source: the float types without a place in C++ are those of ml_dtypes 0.6.0.
Unfit cast_numbers(const DType& from, Bytes numbers, const DType& to, std::span<std::byte> into);

/// An element in words, as number_words() has it: also of the floats that NumPy lacks.
[[nodiscard]] std::string cast_number_words(const DType& dtype, const std::byte* at);

}  // namespace shale
