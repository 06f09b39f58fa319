#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "shale/numbers/cast_numbers.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

template <class To>
struct Made {
  std::vector<To> numbers;
  Unfit unfit;
};

template <class To, class From>
Made<To> cast(NumberKind from, const std::vector<From>& numbers, NumberKind to) {
  Made<To> made{std::vector<To>(numbers.size()), {}};
  made.unfit = cast_numbers(from, std::as_bytes(std::span(numbers)), to,
                            std::as_writable_bytes(std::span(made.numbers)));
  return made;
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST_CASE("cast: integers fit where they are in range, and become the nearest otherwise") {
  const auto made = cast<std::uint8_t>(
      NumberKind::int16, std::vector<std::int16_t>{0, 255, 256, -1}, NumberKind::uint8);
  CHECK(made.numbers == std::vector<std::uint8_t>{0, 255, 255, 0});
  CHECK(made.unfit.count == 2);
  CHECK(made.unfit.first == 2);
  const auto large = cast<std::int64_t>(
      NumberKind::uint64, std::vector<std::uint64_t>{1, ~std::uint64_t{0}}, NumberKind::int64);
  CHECK(large.numbers[1] == std::numeric_limits<std::int64_t>::max());
  CHECK(large.unfit.count == 1);
}

TEST_CASE("cast: an integer fits a float that holds it exactly") {
  const std::vector<std::int64_t> numbers = {1 << 24, (1 << 24) + 1, (1 << 24) + 2,
                                             std::numeric_limits<std::int64_t>::min(),
                                             std::numeric_limits<std::int64_t>::max()};
  const auto made = cast<float>(NumberKind::int64, numbers, NumberKind::float32);
  CHECK(made.numbers[1] == 0x1p24F);
  CHECK(made.numbers[3] == -0x1p63F);
  CHECK(made.unfit.count == 2);
  CHECK(made.unfit.first == 1);
  CHECK(cast<double>(NumberKind::int64, numbers, NumberKind::float64).unfit.count == 1);
  const auto half = cast<std::uint16_t>(
      NumberKind::int32, std::vector<std::int32_t>{2048, 2049, -1}, NumberKind::float16);
  CHECK(half.numbers == std::vector<std::uint16_t>{0x6800, 0x6800, 0xbc00});
  CHECK(half.unfit.count == 1);
}

TEST_CASE("cast: a float fits an integer if it is whole and in range") {
  const std::vector<double> numbers = {-0.0, 255, 255.5, 256, -0.5, -1, std::nan(""), -kInfinite};
  const auto made = cast<std::uint8_t>(NumberKind::float64, numbers, NumberKind::uint8);
  CHECK(made.numbers == std::vector<std::uint8_t>{0, 255, 255, 255, 0, 0, 0, 0});
  CHECK(made.unfit.count == 6);
  const std::vector<double> borders = {0x1p63, -0x1p63, 0x1p64};
  const auto wide = cast<std::int64_t>(NumberKind::float64, borders, NumberKind::int64);
  CHECK(wide.numbers[1] == std::numeric_limits<std::int64_t>::min());
  CHECK(wide.unfit.count == 2);
  const auto whole = cast<std::uint64_t>(NumberKind::float64, borders, NumberKind::uint64);
  CHECK(whole.numbers[0] == std::uint64_t{1} << 63U);
  CHECK(whole.unfit.count == 2);
}

TEST_CASE("cast: a float is rounded to a shorter one, and does not fit if it becomes infinite") {
  // The largest float, what is rounded down to it, and the first that is not.
  const std::vector<double> numbers = {
      0.1, 0x1.fffffep127, 0x1.fffffefffffffp127, 0x1.ffffffp127, kInfinite, std::nan(""), -1e-60};
  const auto made = cast<float>(NumberKind::float64, numbers, NumberKind::float32);
  CHECK(made.numbers[0] == 0.1F);
  CHECK(made.numbers[2] == std::numeric_limits<float>::max());
  CHECK(std::isinf(made.numbers[3]));
  CHECK(std::isinf(made.numbers[4]));
  CHECK(std::isnan(made.numbers[5]));
  CHECK(std::signbit(made.numbers[6]));
  CHECK(made.unfit.count == 1);
  CHECK(made.unfit.first == 3);
}

TEST_CASE("cast: every half comes back, and what lies between two is rounded half to even") {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t bits = 0; bits < 0x1'0000; ++bits) {
    const bool is_nan = (bits & 0x7c00U) == 0x7c00U && (bits & 0x3ffU) != 0;
    if (!is_nan) halves.push_back(static_cast<std::uint16_t>(bits));
  }
  const auto wide = cast<double>(NumberKind::float16, halves, NumberKind::float64);
  CHECK(wide.unfit.count == 0);
  CHECK(cast<std::uint16_t>(NumberKind::float64, wide.numbers, NumberKind::float16).numbers ==
        halves);
  std::vector<double> between;
  std::vector<std::uint16_t> even;
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = half_to_double(bits);
    between.push_back(low + (half_to_double(static_cast<std::uint16_t>(bits + 1)) - low) / 2);
    even.push_back(static_cast<std::uint16_t>(bits + bits % 2));
  }
  CHECK(cast<std::uint16_t>(NumberKind::float64, between, NumberKind::float16).numbers == even);
  const auto large = cast<std::uint16_t>(NumberKind::float64, std::vector<double>{65519.9, -65520},
                                         NumberKind::float16);
  CHECK(large.numbers == std::vector<std::uint16_t>{0x7bff, 0xfc00});
  CHECK(large.unfit.count == 1);
}

TEST_CASE("cast: bool holds 0 and 1") {
  const auto made = cast<std::uint8_t>(
      NumberKind::float64, std::vector<double>{0, 1, 0.5, std::nan("")}, NumberKind::boolean);
  CHECK(made.numbers == std::vector<std::uint8_t>{0, 1, 1, 0});
  CHECK(made.unfit.count == 2);
  CHECK(cast<float>(NumberKind::boolean, std::vector<std::uint8_t>{0, 1}, NumberKind::float32)
            .numbers == std::vector<float>{0, 1});
}

TEST_CASE("cast: what is not numbers, or not as many, is a bug") {
  std::array<std::byte, 8> bytes{};
  for (const NumberKind kind : {NumberKind::none, NumberKind::time, NumberKind::complex64}) {
    CHECK_FALSE(may_be_cast(kind));
    CHECK(test::error_of([&] {
            (void)cast_numbers(kind, bytes, NumberKind::int8, bytes);
          }).code() == Code::bug);
  }
}

}  // namespace
}  // namespace shale
