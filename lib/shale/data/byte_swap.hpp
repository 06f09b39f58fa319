#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shale {

/// Numbers inside one element whose bytes lie in the other order: `count` of `width` bytes each,
/// one after the other, from `offset` on.
struct ByteSwap {
  std::uint64_t offset = 0;
  std::uint32_t width = 0;
  std::uint64_t count = 0;

  friend bool operator==(const ByteSwap&, const ByteSwap&) = default;
};

/// Turns the numbers of whole elements around, in place. `elements` is a multiple of `item_bytes`
/// and every swap lies inside an element. Fast where one swap covers the element.
/// Errors: Code::bug for swaps that do not fit.
void swap_bytes(std::span<std::byte> elements, std::uint64_t item_bytes,
                std::span<const ByteSwap> swaps);

}  // namespace shale
