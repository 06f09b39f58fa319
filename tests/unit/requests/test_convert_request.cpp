#include <string_view>

#include <doctest/doctest.h>

#include "shale/requests/convert_request.hpp"

#include "tests/support/grid_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("error allowance: a number is that number, a percentage is of the samples, at least 10") {
  struct Row {
    std::string_view text;
    std::uint64_t samples, limit;
  };
  const Row rows[] = {{"0", 1'000'000, 0},  {"25", 3, 25},         {"1%", 1'281'167, 12'811},
                      {"1%", 100, 10},      {"0%", 1'000'000, 10}, {"0.5%", 10'000, 50},
                      {"100%", 5000, 5000}, {"100%", 3, 10}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(parse_error_allowance(row.text).limit(row.samples) == row.limit);
  }
}

TEST_CASE("error allowance: anything else is a usage error") {
  for (const std::string_view text :
       {"", "%", "-1", "-1%", "101%", "1e999%", "nan%", "1 %", "1%%", "x", "1.5", "0x10%"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)parse_error_allowance(text); }).code() == Code::usage);
  }
}

TEST_CASE("convert request: an output that ends in .npy is one array") {
  CHECK(is_array_name("a/x.npy"));
  CHECK_FALSE(is_array_name("a.npy/out"));
  CHECK_FALSE(is_array_name("x.npz"));
}

TEST_CASE("convert request: an output with the suffix of a format is one file of it") {
  CHECK(format_of_output("a/x.grid") == &test::grid_format);
  for (const std::string_view name : {"x", "x.grid/", "a.grid/x", "grid", "x.GRID"}) {
    CAPTURE(name);
    CHECK(format_of_output(name) == nullptr);
  }
}

}  // namespace
}  // namespace shale
