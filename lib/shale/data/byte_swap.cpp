#include "shale/data/byte_swap.hpp"

#include <algorithm>
#include <cstring>

#include "shale/base/error.hpp"

namespace shale {
namespace {

std::uint16_t turned(std::uint16_t number) {
  return static_cast<std::uint16_t>(number << 8 | number >> 8);
}

std::uint32_t turned(std::uint32_t number) {
  // Shifts and masks, not a bswap: compilers make vector code of it for any x86-64.
  number = (number & 0x00ff00ffU) << 8 | (number >> 8 & 0x00ff00ffU);
  return number << 16 | number >> 16;
}

std::uint64_t turned(std::uint64_t number) {
  constexpr std::uint64_t kBytes = 0x00ff00ff00ff00ffU, kPairs = 0x0000ffff0000ffffU;
  number = (number & kBytes) << 8 | (number >> 8 & kBytes);
  number = (number & kPairs) << 16 | (number >> 16 & kPairs);
  return number << 32 | number >> 32;
}

template <class Number>
void turn_each(std::byte* at, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Number number;
    std::memcpy(&number, at + i * sizeof(Number), sizeof(Number));
    number = turned(number);
    std::memcpy(at + i * sizeof(Number), &number, sizeof(Number));
  }
}

void turn_each_16(std::byte* at, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, at += 16) {
    std::uint64_t halves[2];
    std::memcpy(halves, at, 16);
    const std::uint64_t other[2] = {turned(halves[1]), turned(halves[0])};
    std::memcpy(at, other, 16);
  }
}

void turn_run(std::byte* at, std::uint32_t width, std::uint64_t count) {
  switch (width) {
    case 2:
      return turn_each<std::uint16_t>(at, count);
    case 4:
      return turn_each<std::uint32_t>(at, count);
    case 8:
      return turn_each<std::uint64_t>(at, count);
    case 16:
      return turn_each_16(at, count);
    default:
      for (std::uint64_t i = 0; i < count; ++i, at += width) std::reverse(at, at + width);
  }
}

}  // namespace

void swap_bytes(std::span<std::byte> elements, std::uint64_t item_bytes,
                std::span<const ByteSwap> swaps) {
  if (swaps.empty() || elements.empty()) return;
  bool fits = item_bytes > 0 && elements.size() % item_bytes == 0;
  for (const ByteSwap& swap : swaps) {
    fits = fits && swap.width > 0 && swap.offset <= item_bytes &&
           swap.count <= (item_bytes - swap.offset) / swap.width;
  }
  if (!fits) throw Error(Code::bug, "byte swaps do not fit elements of {} bytes", item_bytes);

  const ByteSwap& first = swaps.front();
  if (first.width * first.count == item_bytes) {
    return turn_run(elements.data(), first.width, elements.size() / first.width);
  }
  for (std::uint64_t at = 0; at < elements.size(); at += item_bytes) {
    for (const ByteSwap& swap : swaps) {
      turn_run(elements.data() + at + swap.offset, swap.width, swap.count);
    }
  }
}

}  // namespace shale
