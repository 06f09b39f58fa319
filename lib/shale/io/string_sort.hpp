#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shale {

/// A byte string in an arena, as the in-memory sort moves it about.
struct StringPlace {
  std::uint64_t head =
      0;  ///< scratch of the sort: eight bytes of the string, the first one highest
  std::uint64_t offset = 0;  ///< in the arena
  std::uint64_t length = 0;
};

/// Sorts strings that lie in one arena bytewise; those that are sorted cost one comparison each. In
/// place, no further memory but a stack of bounded depth. Reads each
/// string about once, where a comparison sort reads it log n times: 2,000,000 paths of 60 bytes
/// differ late, and each look at one is a cache miss. Source: multikey quicksort with cached heads
/// (Bentley and Sedgewick 1997; Ng and Kakehi 2007).
void sort_strings(std::span<StringPlace> places, const std::byte* arena);

}  // namespace shale
