#include <doctest/doctest.h>

#include "shale/shards/shard_bounds.hpp"

#include "tests/support/sample_sets.hpp"
#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"

namespace shale {
namespace {

using namespace test;

const Schema kBytesOfThree{
    .fields = {{.name = "x", .kind = Kind::tensor, .dtype = DType::parse("|u1"), .shape = {3}}},
    .has_keys = false};

std::optional<std::uint64_t> rows_in(std::uint64_t bytes, std::uint64_t samples) {
  return rows_within({bytes, samples}, toy_rows_format, kBytesOfThree,
                     OptionSet(toy_rows_format.options));
}

TEST_CASE("shard bounds: as many rows as both limits allow, and the files hold no more") {
  const std::uint64_t rows = rows_in(1000, 1 << 20).value();

  const auto largest = [&](std::uint64_t count) {
    const OptionSet options(toy_rows_format.options);
    const std::vector<std::uint64_t> parts = {3 * count};
    return toy_rows_format.create_sizer(kBytesOfThree, options)->size_with(parts, count)[0];
  };
  CHECK(largest(rows) <= 1000);
  CHECK(largest(rows + 1) > 1000);
  CHECK(rows_in(1000, 5) == 5);
  CHECK(rows_in(1, 5) == 0);
}

TEST_CASE("shard bounds: where each sample has an index row nothing is known beforehand") {
  CHECK_FALSE(rows_within({1000, 10}, toy_format, kBytesOfThree, OptionSet(toy_format.options))
                  .has_value());
}

}  // namespace
}  // namespace shale
