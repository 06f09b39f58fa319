#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "shale/data/byte_swap.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

std::vector<std::byte> counted(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

TEST_CASE("byte swap: plain elements of every width are turned around, any number of them") {
  for (const std::uint32_t width : {1U, 2U, 3U, 4U, 8U, 16U}) {
    for (std::size_t count = 0; count < 70; ++count) {
      CAPTURE(width);
      CAPTURE(count);
      auto bytes = counted(width * count);
      auto expected = bytes;
      for (auto at = expected.begin(); at != expected.end(); at += width)
        std::reverse(at, at + width);
      const ByteSwap swap{0, width, 1};

      swap_bytes(bytes, width, {&swap, 1});

      CHECK(bytes == expected);
    }
  }
}

TEST_CASE("byte swap: only what the swaps name is turned around, in every element") {
  auto bytes = counted(2 * 12);
  auto expected = bytes;
  for (const std::ptrdiff_t element : {0, 12}) {
    std::reverse(expected.begin() + element + 1, expected.begin() + element + 3);
    std::reverse(expected.begin() + element + 3, expected.begin() + element + 5);
    std::reverse(expected.begin() + element + 6, expected.begin() + element + 10);
  }
  const std::vector<ByteSwap> swaps = {{1, 2, 2}, {6, 4, 1}};

  swap_bytes(bytes, 12, swaps);

  CHECK(bytes == expected);
}

TEST_CASE("byte swap: swaps that do not fit the elements are a bug, and touch nothing") {
  auto bytes = counted(24);
  for (const ByteSwap& swap : {ByteSwap{8, 8, 1}, ByteSwap{0, 4, 4}, ByteSwap{13, 2, 1},
                               ByteSwap{0, 4, ~std::uint64_t{0}}, ByteSwap{0, 0, 1}}) {
    CHECK(test::error_of([&] { swap_bytes(bytes, 12, {&swap, 1}); }).code() == Code::bug);
  }
  const ByteSwap fine{0, 2, 1};
  CHECK(test::error_of([&] { swap_bytes(bytes, 7, {&fine, 1}); }).code() == Code::bug);
  CHECK(bytes == counted(24));
}

}  // namespace
}  // namespace shale
