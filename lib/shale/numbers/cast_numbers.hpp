#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shale/base/bytes.hpp"
#include "shale/numbers/number_facts.hpp"

namespace shale {

/// The numbers of an array that another type does not hold.
struct Unfit {
  std::uint64_t count = 0;
  std::size_t first = 0;  ///< number of the element; of no meaning if there is none
};

/// True for bool, integers and floats.
[[nodiscard]] constexpr bool may_be_cast(NumberKind kind) {
  return kind != NumberKind::none && kind != NumberKind::time && kind != NumberKind::complex64 &&
         kind != NumberKind::complex128;
}

/// Elements of one kind as those of another, little-endian both. `into`: as many elements.
/// An integer fits where it is held exactly, a float in an integer if it is whole and in range; a
/// float in a shorter one is rounded (half to even), and fits unless a finite number becomes
/// infinite. What does not fit becomes the nearest integer in range, its fraction cut off, NaN 0;
/// the nearest float; true for bool. Errors: Code::bug for kinds that may not be cast.
Unfit cast_numbers(NumberKind from, Bytes numbers, NumberKind to, std::span<std::byte> into);

}  // namespace shale
