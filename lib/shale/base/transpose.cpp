#include "shale/base/transpose.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// What is transposed at a time: as many bytes of each line as a cache line has, four times (a line
// begins in another page, so each visit should be worth it), and as many lines as fill a cache line
// of the result, which then is written once and whole.
constexpr std::uint64_t kBlockOfLine = 256;
constexpr std::uint64_t kCacheLine = 64;
constexpr std::uint64_t kVectorBytes = 16;

using Item16 = std::array<std::uint64_t, 2>;

template <class T>
void copy_item(const std::byte* from, std::byte* into) {
  T item;
  std::memcpy(&item, from, sizeof(T));
  std::memcpy(into, &item, sizeof(T));
}

struct Range {
  std::uint64_t begin, end;
};

/// `count` items in steps. All by value: what a byte pointer writes to might otherwise be the steps
/// themselves, and they would be read again for each item.
template <class Copy>
void copy_run(const std::byte* from, std::uint64_t from_step, std::byte* into,
              std::uint64_t into_step, std::uint64_t count, Copy copy) {
  for (std::uint64_t i = 0; i < count; ++i) copy(from + i * from_step, into + i * into_step);
}

/// One by one. The inner loop is the longer one.
template <class Copy>
void copy_items(const Transposition& grid, const std::byte* from, std::byte* into, Range lines,
                Range items, Copy copy) {
  from += lines.begin * grid.from_line + items.begin * grid.item_bytes;
  into += lines.begin * grid.into_line + items.begin * grid.into_item;
  const std::uint64_t line_count = lines.end - lines.begin;
  const std::uint64_t item_count = items.end - items.begin;
  if (line_count < item_count) {
    for (std::uint64_t line = 0; line < line_count; ++line)
      copy_run(from + line * grid.from_line, grid.item_bytes, into + line * grid.into_line,
               grid.into_item, item_count, copy);
  } else {
    for (std::uint64_t item = 0; item < item_count; ++item)
      copy_run(from + item * grid.item_bytes, grid.from_line, into + item * grid.into_item,
               grid.into_line, line_count, copy);
  }
}

template <class T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
  static constexpr std::size_t kItems = kVectorBytes / sizeof(T);
};

/// The lower (Half = 0) or upper halves of two vectors, item by item in turn.
template <std::size_t Half, class Vector, std::size_t... I>
Vector interleave(const Vector& a, const Vector& b, std::index_sequence<I...>) {
  constexpr std::size_t kItems = sizeof...(I);
  return __builtin_shufflevector(a, b, (I / 2 + I % 2 * kItems + Half * kItems / 2)...);
}

/// A square of as many lines as a vector has items: interleaving the first half of the vectors with
/// the second, log2 times, transposes it.
template <class T>
void transpose_square(const std::byte* from, std::uint64_t from_line, std::byte* into,
                      std::uint64_t into_item) {
  using Vector = typename VectorOf<T>::Type;
  constexpr std::size_t kItems = VectorOf<T>::kItems;
  constexpr auto kEach = std::make_index_sequence<kItems>();
  Vector now[kItems];
  Vector next[kItems];
  for (std::size_t line = 0; line < kItems; ++line)
    std::memcpy(&now[line], from + line * from_line, kVectorBytes);
  for (std::size_t step = 1; step < kItems; step *= 2) {
    for (std::size_t i = 0; i < kItems / 2; ++i) {
      next[2 * i] = interleave<0>(now[i], now[i + kItems / 2], kEach);
      next[2 * i + 1] = interleave<1>(now[i], now[i + kItems / 2], kEach);
    }
    std::copy(std::begin(next), std::end(next), std::begin(now));
  }
  for (std::size_t item = 0; item < kItems; ++item)
    std::memcpy(into + item * into_item, &now[item], kVectorBytes);
}

/// A true transposition in squares; what is left over at two edges goes one by one.
template <class T>
void transpose_dense(const Transposition& grid, const std::byte* from, std::byte* into) {
  constexpr std::uint64_t kSide = VectorOf<T>::kItems;
  constexpr std::uint64_t kItems = kBlockOfLine / sizeof(T);
  constexpr std::uint64_t kLines = kCacheLine / sizeof(T);
  const std::uint64_t lines = grid.lines / kSide * kSide;
  const std::uint64_t length = grid.length / kSide * kSide;
  for (std::uint64_t items_from = 0; items_from < length; items_from += kItems) {
    const std::uint64_t items_to = std::min(length, items_from + kItems);
    for (std::uint64_t lines_from = 0; lines_from < lines; lines_from += kLines) {
      const std::uint64_t lines_to = std::min(lines, lines_from + kLines);
      for (std::uint64_t item = items_from; item < items_to; item += kSide) {
        for (std::uint64_t line = lines_from; line < lines_to; line += kSide) {
          transpose_square<T>(from + line * grid.from_line + item * sizeof(T), grid.from_line,
                              into + line * sizeof(T) + item * grid.into_item, grid.into_item);
        }
      }
    }
    copy_items(grid, from, into, {lines, grid.lines}, {items_from, items_to}, copy_item<T>);
  }
  copy_items(grid, from, into, {0, grid.lines}, {length, grid.length}, copy_item<T>);
}

/// In blocks that the caches hold, item by item.
template <class Copy>
void copy_blocks(const Transposition& grid, const std::byte* from, std::byte* into, Copy copy) {
  const std::uint64_t items = std::max<std::uint64_t>(1, kBlockOfLine / grid.item_bytes);
  const std::uint64_t lines = std::max<std::uint64_t>(1, kCacheLine / grid.item_bytes);
  for (std::uint64_t item = 0; item < grid.length; item += items) {
    for (std::uint64_t line = 0; line < grid.lines; line += lines) {
      copy_items(grid, from, into, {line, std::min(grid.lines, line + lines)},
                 {item, std::min(grid.length, item + items)}, copy);
    }
  }
}

template <class T>
void transpose_typed(const Transposition& grid, const std::byte* from, std::byte* into) {
  constexpr std::uint64_t kSide = kVectorBytes / sizeof(T);
  const bool is_thin = grid.lines < kSide || grid.length < kSide;
  if (is_thin) {
    copy_items(grid, from, into, {0, grid.lines}, {0, grid.length}, copy_item<T>);
  } else if constexpr (kSide > 1) {
    if (grid.into_line == sizeof(T)) {
      transpose_dense<T>(grid, from, into);
    } else {
      copy_blocks(grid, from, into, copy_item<T>);
    }
  } else {
    copy_blocks(grid, from, into, copy_item<T>);
  }
}

void check_reach(std::uint64_t lines, std::uint64_t line_step, std::uint64_t length,
                 std::uint64_t item_step, std::uint64_t item_bytes, std::uint64_t size) {
  const std::uint64_t reach = (lines - 1) * line_step + (length - 1) * item_step + item_bytes;
  if (reach > size)
    throw Error(Code::bug, "a grid of {} bytes is transposed in {} bytes", reach, size);
}

}  // namespace

void transpose(const Transposition& grid, Bytes from, std::span<std::byte> into) {
  if (grid.lines == 0 || grid.length == 0 || grid.item_bytes == 0) return;
  const std::uint64_t size = grid.item_bytes;
  check_reach(grid.lines, grid.from_line, grid.length, size, size, from.size());
  check_reach(grid.lines, grid.into_line, grid.length, grid.into_item, size, into.size());
  if (grid.into_item == size) {
    for (std::uint64_t line = 0; line < grid.lines; ++line) {
      std::memcpy(into.data() + line * grid.into_line, from.data() + line * grid.from_line,
                  grid.length * size);
    }
    return;
  }
  switch (size) {
    case 1:
      return transpose_typed<std::uint8_t>(grid, from.data(), into.data());
    case 2:
      return transpose_typed<std::uint16_t>(grid, from.data(), into.data());
    case 4:
      return transpose_typed<std::uint32_t>(grid, from.data(), into.data());
    case 8:
      return transpose_typed<std::uint64_t>(grid, from.data(), into.data());
    case 16:
      return transpose_typed<Item16>(grid, from.data(), into.data());
    default:
      return copy_blocks(
          grid, from.data(), into.data(),
          [size](const std::byte* item, std::byte* place) { std::memcpy(place, item, size); });
  }
}

}  // namespace shale
