#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "shale/numbers/number_facts.hpp"

namespace shale {
namespace {

template <class T>
Bytes raw_bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
NumberCounts counts_of(NumberKind kind, const std::vector<T>& values) {
  NumberCounts counts;
  counts.count(kind, raw_bytes(values));
  return counts;
}

TEST_CASE("number facts: integers of every width are counted by their values") {
  CHECK(counts_of<std::int8_t>(NumberKind::int8, {-128, 127}).minimum() == -128);
  CHECK(counts_of<std::uint8_t>(NumberKind::uint8, {0, 255}).mean() == 127.5);
  CHECK(counts_of<std::int16_t>(NumberKind::int16, {-300, 300}).deviation() == 300);
  CHECK(counts_of<std::uint32_t>(NumberKind::uint32, {4'000'000'000U}).maximum() == 4e9);
  CHECK(counts_of<std::int64_t>(NumberKind::int64, {-5, 0, 0}).zero_count() == 2);
}

TEST_CASE("number facts: NaN and infinities are counted, and touch nothing else") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
  const NumberCounts counts = counts_of<float>(NumberKind::float32, {1, nan, 3, inf, -inf, nan});
  CHECK(counts.values() == 6);
  CHECK(counts.nan_count() == 2);
  CHECK(counts.infinite_count() == 2);
  CHECK(counts.finite_count() == 2);
  CHECK(counts.mean() == 2);
  CHECK(counts.maximum() == 3);
}

TEST_CASE("number facts: half floats are what IEEE 754 says, complex numbers their length") {
  CHECK(half_to_double(0x3C00) == 1);
  CHECK(half_to_double(0xC000) == -2);
  CHECK(half_to_double(0x0001) == std::ldexp(1, -24));
  CHECK(half_to_double(0x7BFF) == 65504);
  CHECK(std::isinf(half_to_double(0xFC00)));
  CHECK(std::isnan(half_to_double(0x7E00)));
  CHECK(counts_of<float>(NumberKind::complex64, {3, 4}).mean() == 5);
  CHECK(length_of_complex(0, -0.0) == 0);
  CHECK(length_of_complex(-3e300, 4e300) == doctest::Approx(5e300));
  CHECK(length_of_complex(3e-300, 4e-300) == doctest::Approx(5e-300));
  CHECK(std::isinf(length_of_complex(-std::numeric_limits<double>::infinity(), 1)));
  CHECK(std::isnan(length_of_complex(1, std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("number facts: a mean of many large numbers stays exact") {
  const std::vector<double> values(100'001, 1e15 + 1);
  const NumberCounts counts = counts_of(NumberKind::float64, values);
  CHECK(counts.mean() == doctest::Approx(1e15 + 1).epsilon(1e-15));
  CHECK(counts.deviation() < 1);
}

TEST_CASE("number facts: parts that are joined are the whole") {
  std::vector<double> all, one, other;
  for (int i = 0; i < 10'000; ++i) {
    all.push_back(std::sin(i) * i);
    (i < 3000 ? one : other).push_back(all.back());
  }
  NumberCounts joined = counts_of(NumberKind::float64, one);
  joined.add(counts_of(NumberKind::float64, other));
  const NumberCounts whole = counts_of(NumberKind::float64, all);
  CHECK(joined.mean() == doctest::Approx(whole.mean()).epsilon(1e-12));
  CHECK(joined.deviation() == doctest::Approx(whole.deviation()).epsilon(1e-12));
  CHECK(joined.minimum() == whole.minimum());
  CHECK(joined.values() == whole.values());
}

TEST_CASE("number facts: integers of 64 bits are exact, and differ where doubles do not") {
  constexpr std::int64_t kFar = (std::int64_t{1} << 60) + 1;
  const NumberCounts counts = counts_of<std::int64_t>(NumberKind::int64, {kFar + 1, -kFar, kFar});
  CHECK(counts.least_whole() == WholeNumber::of(-kFar));
  CHECK(counts.most_whole() == WholeNumber::of(kFar + 1));
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  NumberCounts joined = counts_of<std::uint64_t>(NumberKind::uint64, {most - 1});
  joined.add(counts_of<std::uint64_t>(NumberKind::uint64, {most, 3}));
  CHECK(joined.most_whole() == WholeNumber::of(most));
  CHECK(joined.least_whole() == WholeNumber::of(3U));
  CHECK(counts_of<std::int8_t>(NumberKind::int8, {-128, 5}).least_whole() == WholeNumber::of(-128));
  CHECK_FALSE(counts_of<double>(NumberKind::float64, {1}).least_whole());
  CHECK(WholeNumber::of(std::numeric_limits<std::int64_t>::min()).magnitude == std::uint64_t{1}
                                                                                   << 63);
}

TEST_CASE("number facts: a time that is none counts as NaN") {
  const NumberCounts counts = counts_of<std::int64_t>(NumberKind::time, {kNotATime, 5, -7});
  CHECK(counts.nan_count() == 1);
  CHECK(counts.minimum() == -7);
  CHECK(counts.least_whole() == WholeNumber::of(-7));
  CHECK_FALSE(counts_of<std::int64_t>(NumberKind::time, {kNotATime}).least_whole());
}

TEST_CASE("number facts: deviations neither overflow nor vanish, in one run and in several") {
  constexpr double kMost = std::numeric_limits<double>::max();
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  for (const std::size_t times : {std::size_t{1}, std::size_t{9000}}) {
    CAPTURE(times);
    std::vector<double> ends, small, least;
    for (std::size_t i = 0; i < times; ++i) {
      ends.insert(ends.end(), {-kMost, kMost});
      small.insert(small.end(), {-1e-200, 1e-200});
      least.insert(least.end(), {-kLeast, kLeast});
    }
    CHECK(counts_of(NumberKind::float64, ends).deviation() == doctest::Approx(kMost));
    CHECK(std::isfinite(counts_of(NumberKind::float64, ends).deviation()));
    CHECK(counts_of(NumberKind::float64, ends).mean() == 0);
    CHECK(counts_of(NumberKind::float64, small).deviation() / 1e-200 == doctest::Approx(1));
    CHECK(counts_of(NumberKind::float64, least).deviation() == kLeast);
    NumberCounts joined = counts_of(NumberKind::float64, small);
    joined.add(counts_of(NumberKind::float64, ends));
    CHECK(joined.deviation() == doctest::Approx(kMost / std::sqrt(2.0)));
  }
}

TEST_CASE("number facts: words have all digits of their type") {
  const auto words = [](NumberKind kind, auto value, std::string_view descr = "") {
    return number_words(kind, descr, std::as_bytes(std::span(&value, 1)).data());
  };
  CHECK(words(NumberKind::int64, (std::int64_t{1} << 53) + 1) == "9007199254740993");
  CHECK(words(NumberKind::uint64, ~std::uint64_t{0}) == "18446744073709551615");
  CHECK(words(NumberKind::float32, 0.1F) == "0.1");
  CHECK(words(NumberKind::complex64, std::array{1.5F, -2.0F}) == "1.5-2j");
  CHECK(words(NumberKind::time, std::int64_t{1}, "<M8[D]") == "1970-01-02");
}

TEST_CASE("number facts: what holds no numbers is known by its dtype") {
  for (const std::string_view descr : {"<U3", "|S4", "|V2", "<f16", "[('a', '<f4')]", "", "<"})
    CHECK(number_kind_of(descr) == NumberKind::none);
  CHECK(number_kind_of("<M8[ns]") == NumberKind::time);
  CHECK(number_kind_of("<c16") == NumberKind::complex128);
}

TEST_CASE("structured columns: nested ones by their names, with places, and without gaps") {
  const DType dtype = DType::parse(
      "[('a', '<f4'), ('', '|V4'), ('b', [('c', '<M8[s]'), ('d', '|S2')]), (('t', 'v'), '<u8', (2, "
      "3)), ('s', [('x', '|u1')], (2,))]");
  const std::vector<StructuredColumn> columns = columns_of(dtype);
  REQUIRE(columns.size() == 5);
  CHECK(columns[0].name == "a");
  CHECK(columns[0].kind == NumberKind::float32);
  CHECK(columns[1].name == "b.c");
  CHECK(columns[1].offset == 8);
  CHECK(columns[1].kind == NumberKind::time);
  CHECK(columns[2].kind == NumberKind::none);
  CHECK(columns[3].name == "v");
  CHECK(columns[3].shape == std::vector<std::uint64_t>{2, 3});
  CHECK(columns[3].offset == 18);
  CHECK(columns[3].bytes == 48);
  CHECK(columns[4].name == "s");
  CHECK(columns[4].kind == NumberKind::none);
  CHECK(columns[4].offset + columns[4].bytes == dtype.item_bytes());
  CHECK(columns_of(DType::parse("<f4")).empty());
}

TEST_CASE("structured columns: the bytes of one, out of whole elements alone") {
  const DType dtype = DType::parse("[('a', '|u1'), ('b', '|u1', (2,))]");
  const std::vector<StructuredColumn> columns = columns_of(dtype);
  const char text[] = "abcABCxy";
  const Bytes elements = std::as_bytes(std::span(text, 8));
  CHECK(as_text(bytes_of_column(columns[1], dtype.item_bytes(), elements)) == "bcBC");
}

}  // namespace
}  // namespace shale
