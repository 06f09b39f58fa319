#include <doctest/doctest.h>

#include "shale/base/size_text.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

struct Row {
  std::string_view text;
  std::uint64_t bytes;
};

}  // namespace

TEST_CASE("parse_size: digits, fraction and unit are read exactly") {
  constexpr Row kRows[] = {{"0", 0},
                           {"512", 512},
                           {"512B", 512},
                           {"007", 7},
                           {"1K", 1024},
                           {"64KiB", 65'536},
                           {"16M", 16'777'216},
                           {"1.5GiB", 1'610'612'736},
                           {"1.5000GiB", 1'610'612'736},
                           {"2T", 2'199'023'255'552},
                           {"3TiB", 3'298'534'883'328},
                           {"1kB", 1000},
                           {"0.5MB", 500'000},
                           {"1GB", 1'000'000'000},
                           {"0.000000000001TB", 1},
                           {"0.0009765625K", 1},
                           {"9223372036854775807", 9'223'372'036'854'775'807U}};
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    CHECK(parse_size(row.text) == row.bytes);
  }
}

TEST_CASE("parse_size: anything else is a usage error that quotes it") {
  constexpr std::string_view kTexts[] = {"",
                                         " 1",
                                         "1 ",
                                         "1 GiB",
                                         "-1",
                                         "+1",
                                         "K",
                                         ".5K",
                                         "1.K",
                                         "1..5",
                                         "1,5K",
                                         "1e3",
                                         "0x10",
                                         "1k",
                                         "1KB",
                                         "1kiB",
                                         "1Kib",
                                         "1P",
                                         "1GiBx",
                                         "0.5",
                                         "0.1GiB",
                                         "1.0001K",
                                         "1\n",
                                         "9223372036854775808",
                                         "8388608TiB",
                                         "99999999999999999999",
                                         "99999999999999999999999999999T",
                                         "0.0000000000000000000001TiB"};
  for (const std::string_view text : kTexts) {
    CAPTURE(text);
    const Error error = error_of([&] { (void)parse_size(text); });
    CHECK(error.code() == Code::usage);
    CHECK(error.message().find(text == "1\n" ? "1\\n" : text) != std::string::npos);
  }
}

TEST_CASE("parse_size: the three ways to be wrong are told apart") {
  CHECK(error_of([] { (void)parse_size("ten"); }).message() == "size: 'ten' is not a size");
  CHECK(error_of([] { (void)parse_size("1KB"); }).message() ==
        "size: '1KB' has an unknown unit: 'KB'");
  CHECK(error_of([] { (void)parse_size("0.1GiB"); }).message() ==
        "size: '0.1GiB' has a fraction of a byte");
  CHECK(error_of([] { (void)parse_size("8388608TiB"); }).message() ==
        "size: '8388608TiB' is 2^63 bytes or more");
}

TEST_CASE("format_size: three digits, and never 1024 of a unit") {
  constexpr Row kRows[] = {{"0 B", 0},
                           {"512 B", 512},
                           {"1023 B", 1023},
                           {"1 KiB", 1024},
                           {"1.5 KiB", 1536},
                           {"1.46 KiB", 1500},
                           {"12.3 KiB", 12'600},
                           {"1023 KiB", 1'047'552},
                           {"1 MiB", 1'048'575},
                           {"10 MiB", 10'485'759},
                           {"100 MiB", 104'857'599},
                           {"119 MiB", 124'780'544},
                           {"1.5 GiB", 1'610'612'736},
                           {"1 TiB", std::uint64_t{1} << 40},
                           {"1 PiB", std::uint64_t{1} << 50},
                           {"16 EiB", ~std::uint64_t{0}}};
  for (const Row& row : kRows) {
    CAPTURE(row.bytes);
    CHECK(format_size(row.bytes) == row.text);
  }
}

TEST_CASE("format_count: thousands are separated") {
  constexpr Row kRows[] = {{"0", 0},
                           {"999", 999},
                           {"1,000", 1000},
                           {"999,999", 999'999},
                           {"1,281,167", 1'281'167},
                           {"18,446,744,073,709,551,615", ~std::uint64_t{0}}};
  for (const Row& row : kRows) CHECK(format_count(row.bytes) == row.text);
}

TEST_CASE("parse_count: whole numbers up to 2^64 - 1, nothing else") {
  CHECK(parse_count("0", "--jobs") == 0);
  CHECK(parse_count("18446744073709551615", "--jobs") == ~std::uint64_t{0});
  for (const std::string_view text : {"", "-1", "+1", "1.0", "1,000", " 1", "1 ", "1K", "0x1"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)parse_count(text, "--jobs"); }).message() ==
          "--jobs: '" + std::string(text) + "' is not a whole number");
  }
  CHECK(error_of([] { (void)parse_count("18446744073709551616", "--seed"); }).message() ==
        "--seed: 18446744073709551616 is larger than 18446744073709551615, the largest number "
        "allowed");
}

}  // namespace shale
