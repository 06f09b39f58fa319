#pragma once

#include <cstdint>
#include <span>

#include "shale/base/bytes.hpp"

namespace shale {

/// Where the items of a grid lie and where they go: item i of line l lies at
/// l * from_line + i * item_bytes, and goes to l * into_line + i * into_item. All but the counts
/// are in bytes.
struct Transposition {
  std::uint64_t lines = 0;
  std::uint64_t length = 0;  ///< items of a line
  std::uint64_t item_bytes = 0;
  std::uint64_t from_line = 0;
  std::uint64_t into_line = 0;  ///< item_bytes: a true transposition, which is the fastest
  std::uint64_t into_item = 0;  ///< item_bytes: lines stay lines, and are copied whole
};

/// Copies a grid of items to their places. `from` and `into` must not overlap; neither needs to be
/// aligned. Items of 1, 2, 4, 8 and 16 bytes go fastest. Thread-safe.
/// Errors: Code::bug if an item would lie outside of `from` or `into`.
void transpose(const Transposition& grid, Bytes from, std::span<std::byte> into);

}  // namespace shale
