#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/trees/hdf5_chunk_bytes.hpp"

namespace shale {
namespace {

using namespace std::string_view_literals;

// Python 3.11: zlib.compress(b"shale " * 100).
constexpr std::string_view kZlib =
    "\170\234\053\316\110\314\111\125\050\036\045\107\111\252\222\000\310\055\331\225"sv;
constexpr std::uint64_t kInflated = 600;

std::optional<std::uint64_t> plain_bytes(std::string_view stored, std::span<const int> numbers,
                                         std::uint32_t passed_over = 0) {
  std::vector<Hdf5Filter> filters;
  for (const int number : numbers) filters.push_back({.number = number, .name = {}, .values = {}});
  return unfiltered_bytes(as_bytes(stored), filters, passed_over);
}

TEST_CASE("hdf5 filters: how many bytes a chunk has without them") {
  const std::string checked = std::string(kZlib) + "sums";
  constexpr std::array kCompressed{kHdf5Shuffle, kHdf5Deflate},
      kThenChecked{kHdf5Deflate, kHdf5Fletcher32}, kCheckedFirst{kHdf5Fletcher32, kHdf5Deflate};

  CHECK(plain_bytes(kZlib, kCompressed) == kInflated);
  CHECK(plain_bytes(checked, kThenChecked) == kInflated);
  CHECK(plain_bytes(kZlib, kCheckedFirst) == kInflated - 4);
  CHECK(plain_bytes(kZlib, kCompressed, 2) == kZlib.size());
  CHECK(plain_bytes("\x01"
                    "ab\x40\x01"sv,
                    std::array{kHdf5Lzf}) == 6);
}

TEST_CASE("hdf5 filters: what is set to other elements or chunks is said") {
  const auto fault = [](int number, std::vector<unsigned> values) {
    return fault_of_filter({.number = number, .name = "f", .values = std::move(values)}, 4, 35);
  };

  CHECK(fault(kHdf5Shuffle, {4}).empty());
  CHECK(fault(kHdf5Shuffle, {}).empty());
  CHECK(fault(kHdf5ScaleOffset, {2, 0, 35, 0, 4}).empty());
  CHECK(fault(kHdf5Deflate, {9}).empty());
  CHECK(fault(kHdf5Shuffle, {5}) ==
        "filter f says that the bytes of an element are 5, but they are 4");
  CHECK(fault(kHdf5NBit, {8, 0, 34}) ==
        "filter f says that the elements of a chunk are 34, but they are 35");
  CHECK_FALSE(fault(kHdf5ScaleOffset, {2, 0, 3, 0, 4}).empty());
  CHECK_FALSE(fault(kHdf5ScaleOffset, {2, 0, 35, 0, 8}).empty());
}

TEST_CASE("hdf5 filters: scale-offset of all bits of integers leaves them as they are") {
  const auto bytes = [](std::vector<unsigned> values) {
    const Hdf5Filter filter{.number = kHdf5ScaleOffset, .name = {}, .values = std::move(values)};
    return unfiltered_bytes(as_bytes("12345678"), {&filter, 1}, 0);
  };

  CHECK(bytes({2, 32, 2, 0, 4}) == 8);
  CHECK(bytes({2, 31, 2, 0, 4}) == std::nullopt);
  CHECK(bytes({0, 32, 2, 0, 4}) == std::nullopt);
}

TEST_CASE("hdf5 filters: a damaged chunk, and one of a filter that is not known, tell nothing") {
  constexpr int kScaleOffset = 6;
  std::string damaged(kZlib);
  damaged.back() ^= 1;

  CHECK(plain_bytes(damaged, std::array{kHdf5Deflate}) == std::nullopt);
  CHECK(plain_bytes(kZlib.substr(0, kZlib.size() - 1), std::array{kHdf5Deflate}) == std::nullopt);
  CHECK(plain_bytes(kZlib, std::array{kHdf5Deflate, kHdf5Deflate}) == std::nullopt);
  CHECK(plain_bytes(kZlib, std::array{kScaleOffset}) == std::nullopt);
  CHECK(plain_bytes("abc", std::array{kHdf5Fletcher32}) == std::nullopt);
  CHECK(plain_bytes("\x40", std::array{kHdf5Lzf}) == std::nullopt);
}

}  // namespace
}  // namespace shale
