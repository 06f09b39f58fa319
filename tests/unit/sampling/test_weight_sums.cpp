#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/sampling/weight_sums.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"

// The judge is arithmetic in long double, whose 64 bits hold every weight exactly.

namespace shale {
namespace {

using test::error_of;
using test::kIntegerTypes;
using test::kMebi;
using test::npy_as;
using test::npy_of;
using test::TempDir;
using test::write_file;

using Sums = std::vector<std::uint64_t>;
constexpr const char* kNoFolder = "/no/such/folder";

Sums sums_of(const std::string& content, std::uint64_t memory = kMebi,
             std::uint64_t at_once = 1 << 20) {
  const TempDir dir;
  write_file(dir / "w.npy", content);
  const NumberFile file(dir / "w.npy");
  const auto sums =
      sums_of_weights(file, memory, memory == kMebi ? kNoFolder : dir.path(), Events{});
  Sums all(file.count() + 1, 77);
  for (std::uint64_t first = 0; first < all.size(); first += at_once)
    sums(first, std::span(all).subspan(first, std::min(at_once, all.size() - first)));
  return all;
}

Sums judged(const std::vector<long double>& weights) {
  int top = std::numeric_limits<int>::min();
  for (const long double weight : weights) {
    int exponent = 0;
    if (std::frexp(weight, &exponent) > 0) top = std::max(top, exponent);
  }
  const int bits = 62 - static_cast<int>(std::bit_width(weights.size()));
  Sums sums{0};
  for (const long double weight : weights) {
    const long double scaled = weight > 0 ? std::floor(std::ldexp(weight, bits - top)) : 0;
    sums.push_back(sums.back() + static_cast<std::uint64_t>(scaled));
  }
  return sums;
}

template <class Number>
std::vector<long double> widened(const std::vector<Number>& numbers) {
  return {numbers.begin(), numbers.end()};
}

/// Non-negative finite floats of all sizes, by their bits.
template <class Float, class Bits>
std::vector<Float> floats_of_all_sizes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<Float> floats;
  while (floats.size() < count) {
    const auto number = std::bit_cast<Float>(static_cast<Bits>(dice()));
    if (std::isfinite(number)) floats.push_back(std::abs(number));
  }
  return floats;
}

Error error_of_weights(const std::string& content) {
  const TempDir dir;
  write_file(dir / "w.npy", content);
  const Error error = error_of(
      [&] { (void)sums_of_weights(NumberFile(dir / "w.npy"), kMebi, dir.path(), Events{}); });
  CHECK(error.file() == dir / "w.npy");
  return error;
}

TEST_CASE("weight sums: three weights sum up to what the docstring says") {
  // 3 rows: S = 62 - 2; the largest weight is 3, below 2^2.
  CHECK(sums_of(npy_as<int>("<i4", {1, 0, 3})) ==
        Sums{0, std::uint64_t{1} << 58, std::uint64_t{1} << 58, std::uint64_t{4} << 58});
}

TEST_CASE("weight sums: weights of every dtype and byte order are exact") {
  std::vector<int> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i * 37 % 101);
  const Sums expected = judged(widened(numbers));
  for (const std::string_view descr : kIntegerTypes) {
    CAPTURE(descr);
    CHECK(sums_of(npy_as(descr, numbers)) == expected);
  }
  for (const std::string_view descr : {"<f4", ">f4", "<f8", ">f8"}) {
    CAPTURE(descr);
    CHECK(sums_of(npy_as(descr, numbers)) == expected);
  }
  for (int& number : numbers) number %= 2;
  CHECK(sums_of(npy_as("|b1", numbers)) == judged(widened(numbers)));
}

TEST_CASE("weight sums: every half float is exact") {
  std::vector<std::uint16_t> halves;
  std::vector<long double> values;
  for (std::uint16_t bits = 0; bits < 0x7c00; ++bits) {
    halves.push_back(bits);
    const int exponent = bits >> 10, fraction = bits & 0x3ff;
    values.push_back(exponent == 0
                         ? std::ldexp(static_cast<long double>(fraction), -24)
                         : std::ldexp(1024 + static_cast<long double>(fraction), exponent - 25));
  }
  CHECK(values.back() == 65504);
  CHECK(sums_of(npy_of("<f2", halves)) == judged(values));
  CHECK(sums_of(npy_of(">f2", halves)) == judged(values));
}

TEST_CASE("weight sums: floats of all sizes are exact, subnormal ones among them") {
  constexpr std::uint64_t kSeed = 6;
  CAPTURE(kSeed);
  const auto singles = floats_of_all_sizes<float, std::uint32_t>(20'000, kSeed);
  CHECK(sums_of(npy_of("<f4", singles)) == judged(widened(singles)));
  auto doubles = floats_of_all_sizes<double, std::uint64_t>(20'000, kSeed);
  CHECK(sums_of(npy_of(">f8", doubles)) == judged(widened(doubles)));
  for (double& number : doubles)  // 0, and subnormal numbers alone
    number = std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) >> 12);
  CHECK(sums_of(npy_of("<f8", doubles)) == judged(widened(doubles)));
}

TEST_CASE("weight sums: the extremes stay below 2^62") {
  const std::vector<std::uint64_t> largest(1000, ~std::uint64_t{0});
  const Sums sums = sums_of(npy_of("<u8", largest));
  CHECK(sums == judged(widened(largest)));
  CHECK(sums.back() < std::uint64_t{1} << 62);
  CHECK(sums.back() > std::uint64_t{1} << 61);

  CHECK(sums_of(npy_of<double>("<f8", {5e-324})) == Sums{0, std::uint64_t{1} << 60});
  CHECK(sums_of(npy_of<double>("<f8", {-0.0, 1, -0.0})) ==
        judged(std::vector<long double>{0, 1, 0}));
  // 2^60 or more below the largest is nothing.
  CHECK(sums_of(npy_of<double>("<f8", {5e-324, 1e308, 1.0, 5e-324})) ==
        judged(std::vector<long double>{0, 1e308, 0, 0}));
}

TEST_CASE("weight sums: no weights sum up to 0") {
  CHECK(sums_of(npy_as<int>("<i4", {})) == Sums{0});
}

TEST_CASE("weight sums: in memory and in a scratch file they are the same, in any parts") {
  const auto weights = floats_of_all_sizes<float, std::uint32_t>(20'000, 1);
  const std::string content = npy_of("<f4", weights);
  const Sums expected = judged(widened(weights));
  CHECK(sums_of(content, 0) == expected);
  CHECK(sums_of(content, 20'000 * 8) == expected);  // 8 bytes short
  CHECK(sums_of(content, 0, 4097) == expected);
  CHECK(sums_of(content, kMebi, 4097) == expected);
  CHECK(sums_of(content, 0, 1) == expected);
}

TEST_CASE("weight sums: a scratch file has no name, and is not made where memory is enough") {
  const TempDir dir;
  write_file(dir / "w.npy", npy_as<int>("<i8", {1, 2, 3}));
  const NumberFile file(dir / "w.npy");
  const auto on_disk = sums_of_weights(file, 31, dir.path(), Events{});
  CHECK(test::files_in(dir.path()) == std::vector<std::string>{"w.npy"});
  const Error error = error_of([&] { (void)sums_of_weights(file, 31, kNoFolder, Events{}); });
  CHECK(error.code() == Code::io);
  (void)sums_of_weights(file, 32, kNoFolder, Events{});
}

TEST_CASE("weight sums: a weight that is none is named with its row and place") {
  struct Row {
    std::string content;
    std::string_view message;
    std::uint64_t offset;
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> far(10'000, 1);
  far[9'000] = -1;
  const Row rows[] = {
      {npy_as<int>("<i4", {1, 2, -3}),
       "weight of row 2 is -3, expected a finite number of at least 0", 128 + 8},
      {npy_as<int>("|i1", {-128}), "weight of row 0 is -128, expected", 128},
      {npy_as<double>("<f8", {1, -0.25}), "weight of row 1 is -0.25, expected", 128 + 8},
      {npy_as<double>("<f8", {-5e-324}), "weight of row 0 is -5e-324, expected", 128},
      {npy_as<double>(">f4", {0, 0, -2}), "weight of row 2 is -2, expected", 128 + 8},
      {npy_of<std::uint16_t>("<f2", {0x3c00, 0xbc00}), "weight of row 1 is -1, expected", 128 + 2},
      {npy_as<double>("<f8", {1, kNan}), "weight of row 1 is nan, expected", 128 + 8},
      {npy_as<double>("<f4", {kInf}), "weight of row 0 is inf, expected", 128},
      {npy_of<std::uint16_t>("<f2", {0xfc00}), "weight of row 0 is -inf, expected", 128},
      {npy_of("<f8", far), "weight of row 9000 is -1, expected", 128 + 72'000},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const Error error = error_of_weights(row.content);
    CHECK(error.code() == Code::schema);
    CHECK(error.message().starts_with(row.message));
    CHECK(error.offset() == row.offset);
    CHECK(error.hint() == "give weight 0 to rows that must never be drawn");
  }
}

TEST_CASE("weight sums: weights that are all 0 are refused") {
  const Error error = error_of_weights(npy_as<double>("<f8", {0, -0.0, 0}));
  CHECK(error.code() == Code::schema);
  CHECK(error.message() == "all 3 weights are 0");
  CHECK(error.hint() == "give at least one row a weight above 0");
}

TEST_CASE("weight sums: a bool of another byte is damage") {
  const Error error = error_of_weights(npy_as<int>("|b1", {1, 0, 2}));
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "bool of row 2 is 2, expected 0 or 1");
  CHECK(error.offset() == 130);
}

TEST_CASE("weight sums: both passes can be stopped, and a weight that grew in between is seen") {
  const TempDir dir;
  write_file(dir / "w.npy", npy_of("<f8", std::vector<double>(20'000, 1)));
  const NumberFile file(dir / "w.npy");
  for (const int at : {0, 2, 3, 5}) {  // three pieces each pass
    int asked = 0;
    Events events;
    events.should_stop = [&] { return asked++ == at; };
    const Error error = error_of([&] { (void)sums_of_weights(file, 0, dir.path(), events); });
    CHECK(error.code() == Code::interrupted);
    CHECK(asked == at + 1);
  }
  int asked = 0;
  Events events;
  events.should_stop = [&] {
    if (++asked == 4) write_file(dir / "w.npy", npy_of("<f8", std::vector<double>(20'000, 1e300)));
    return false;
  };
  const Error error = error_of([&] { (void)sums_of_weights(file, kMebi, dir.path(), events); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "weight of row 0 grew while the file was read");
  CHECK(error.offset() == 128);
}

}  // namespace
}  // namespace shale
