#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/data/field_choice.hpp"
#include "shale/numbers/cast_numbers.hpp"
#include "shale/numbers/number_facts.hpp"
#include "shale/numbers/time_text.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

template <class To>
struct Made {
  std::vector<To> numbers;
  Unfit unfit;
};

template <class To, class From>
Made<To> cast(const char* from, const std::vector<From>& numbers, const char* to) {
  Made<To> made{std::vector<To>(numbers.size()), {}};
  made.unfit = cast_numbers(DType::parse(from), std::as_bytes(std::span(numbers)), DType::parse(to),
                            std::as_writable_bytes(std::span(made.numbers)));
  return made;
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST_CASE("cast: integers fit where they are in range, and become the nearest otherwise") {
  const auto made = cast<std::uint8_t>("<i2", std::vector<std::int16_t>{0, 255, 256, -1}, "|u1");
  CHECK(made.numbers == std::vector<std::uint8_t>{0, 255, 255, 0});
  CHECK(made.unfit.count == 2);
  CHECK(made.unfit.first == 2);
  const auto large =
      cast<std::int64_t>("<u8", std::vector<std::uint64_t>{1, ~std::uint64_t{0}}, "<i8");
  CHECK(large.numbers[1] == std::numeric_limits<std::int64_t>::max());
  CHECK(large.unfit.count == 1);
}

TEST_CASE("cast: an integer fits a float that holds it exactly") {
  const std::vector<std::int64_t> numbers = {1 << 24, (1 << 24) + 1, (1 << 24) + 2,
                                             std::numeric_limits<std::int64_t>::min(),
                                             std::numeric_limits<std::int64_t>::max()};
  const auto made = cast<float>("<i8", numbers, "<f4");
  CHECK(made.numbers[1] == 0x1p24F);
  CHECK(made.numbers[3] == -0x1p63F);
  CHECK(made.unfit.count == 2);
  CHECK(made.unfit.first == 1);
  CHECK(cast<double>("<i8", numbers, "<f8").unfit.count == 1);
  const auto half = cast<std::uint16_t>("<i4", std::vector<std::int32_t>{2048, 2049, -1}, "<f2");
  CHECK(half.numbers == std::vector<std::uint16_t>{0x6800, 0x6800, 0xbc00});
  CHECK(half.unfit.count == 1);
}

TEST_CASE("cast: a float fits an integer if it is whole and in range") {
  const std::vector<double> numbers = {-0.0, 255, 255.5, 256, -0.5, -1, std::nan(""), -kInfinite};
  const auto made = cast<std::uint8_t>("<f8", numbers, "|u1");
  CHECK(made.numbers == std::vector<std::uint8_t>{0, 255, 255, 255, 0, 0, 0, 0});
  CHECK(made.unfit.count == 6);
  const std::vector<double> borders = {0x1p63, -0x1p63, 0x1p64};
  const auto wide = cast<std::int64_t>("<f8", borders, "<i8");
  CHECK(wide.numbers[1] == std::numeric_limits<std::int64_t>::min());
  CHECK(wide.unfit.count == 2);
  const auto whole = cast<std::uint64_t>("<f8", borders, "<u8");
  CHECK(whole.numbers[0] == std::uint64_t{1} << 63U);
  CHECK(whole.unfit.count == 2);
}

TEST_CASE("cast: a float is rounded to a shorter one, and does not fit if it becomes infinite") {
  // The largest float, what is rounded down to it, and the first that is not.
  const std::vector<double> numbers = {
      0.1, 0x1.fffffep127, 0x1.fffffefffffffp127, 0x1.ffffffp127, kInfinite, std::nan(""), -1e-60};
  const auto made = cast<float>("<f8", numbers, "<f4");
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
  const auto wide = cast<double>("<f2", halves, "<f8");
  CHECK(wide.unfit.count == 0);
  CHECK(cast<std::uint16_t>("<f8", wide.numbers, "<f2").numbers == halves);
  std::vector<double> between;
  std::vector<std::uint16_t> even;
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = half_to_double(bits);
    between.push_back(low + (half_to_double(static_cast<std::uint16_t>(bits + 1)) - low) / 2);
    even.push_back(static_cast<std::uint16_t>(bits + bits % 2));
  }
  CHECK(cast<std::uint16_t>("<f8", between, "<f2").numbers == even);
  const auto large = cast<std::uint16_t>("<f8", std::vector<double>{65519.9, -65520}, "<f2");
  CHECK(large.numbers == std::vector<std::uint16_t>{0x7bff, 0xfc00});
  CHECK(large.unfit.count == 1);
}

TEST_CASE("cast: bool holds 0 and 1") {
  const auto made = cast<std::uint8_t>("<f8", std::vector<double>{0, 1, 0.5, std::nan("")}, "|b1");
  CHECK(made.numbers == std::vector<std::uint8_t>{0, 1, 1, 0});
  CHECK(made.unfit.count == 2);
  CHECK(cast<float>("|b1", std::vector<std::uint8_t>{0, 1}, "<f4").numbers ==
        std::vector<float>{0, 1});
}

TEST_CASE("cast: a complex number fits if both of its parts do") {
  using Double = ComplexParts<double>;
  const std::vector<Double> numbers = {{0.5, -2}, {1e300, 0}, {0, std::nan("")}, {1, -1e300}};
  const auto made = cast<ComplexParts<float>>("<c16", numbers, "<c8");
  CHECK(made.numbers[0].real == 0.5F);
  CHECK(made.numbers[0].imaginary == -2);
  CHECK(made.unfit.count == 2);
  CHECK(made.unfit.first == 1);
  CHECK(cast<Double>("<c8", made.numbers, "<c16").unfit.count == 0);
}

TEST_CASE("cast: a time fits if it is a whole count of the other unit") {
  const std::vector<std::int64_t> counts = {2000, -1, 1999, kNotATime, 0};
  const auto made = cast<std::int64_t>("<M8[ms]", counts, "<M8[s]");
  CHECK(made.numbers == std::vector<std::int64_t>{2, -1, 1, kNotATime, 0});
  CHECK(made.unfit.count == 2);
  const auto days =
      cast<std::int64_t>("<m8[D]", std::vector<std::int64_t>{1, 1 << 30}, "<m8[25fs]");
  CHECK(days.numbers[0] == 3'456'000'000'000'000'000);
  CHECK(days.numbers[1] == std::numeric_limits<std::int64_t>::max());
  CHECK(days.unfit.count == 1);
  CHECK(cast<std::int64_t>("<M8[Y]", std::vector<std::int64_t>{-2}, "<M8[M]").numbers[0] == -24);
  CHECK(cast<std::uint8_t>("<M8[D]", std::vector<std::int64_t>{7}, "|u1").numbers[0] == 7);
}

TEST_CASE("cast: what a short float has no infinity for becomes NaN, and does not fit") {
  const std::vector<double> numbers = {448, 464.5, kInfinite, std::nan(""), -0.0, 1e-30};
  const auto made = cast<std::uint8_t>("<f8", numbers, "[('float8_e4m3fn', '|V1')]");
  CHECK(made.numbers == std::vector<std::uint8_t>{0x7e, 0x7f, 0x7f, 0x7f, 0x80, 0});
  CHECK(made.unfit.count == 2);
  const auto zero =
      cast<std::uint8_t>("<f8", std::vector<double>{-1e-30, 1e9}, "[('float8_e5m2fnuz', '|V1')]");
  CHECK(zero.numbers == std::vector<std::uint8_t>{0, 0x80});
}

TEST_CASE("cast: an integer is rounded once, however long it is") {
  // Between two of bfloat16's, and one above the middle: as a double that is the middle itself.
  const std::vector<std::uint64_t> numbers = {(std::uint64_t{0x8080} << 48U) | 0x1U, 256};
  const auto made = cast<std::uint16_t>("<u8", numbers, "[('bfloat16', '|V2')]");
  CHECK(made.numbers == std::vector<std::uint16_t>{0x5f01, 0x4380});
  CHECK(made.unfit.count == 1);
}

TEST_CASE("cast: what makes no sense, or is not as many, is a bug") {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {"|V8", "|i1"},    {"<c8", "<f4"},    {"<M8[s]", "<m8[s]"}, {"<M8[M]", "<M8[D]"},
      {"<M8[s]", "<f8"}, {"<f4", "<M8[s]"}, {"<M8", "<M8[s]"}};
  std::array<std::byte, 8> bytes{};
  for (const auto& pair : pairs) {
    CAPTURE(pair.first);
    CHECK_FALSE(is_castable(DType::parse(pair.first), DType::parse(pair.second)));
  }
  CHECK(test::error_of([&] {
          (void)cast_numbers(DType::parse("<c8"), bytes, DType::parse("<f4"),
                             std::span(bytes).first(4));
        }).code() == Code::bug);
  CHECK(test::error_of([&] {
          (void)cast_numbers(DType::parse("<i8"), bytes, DType::parse("<f4"), bytes);
        }).code() == Code::bug);
}

}  // namespace
}  // namespace shale
