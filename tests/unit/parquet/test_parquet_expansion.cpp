#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/parquet/parquet_expansion.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

TEST_CASE("parquet expansion: what all columns of a file give out is bounded by its size") {
  ParquetExpansion expansion(1000);
  CHECK(expansion.most_bytes() == (1 << 30) + 4'096'000);
  expansion.give(1 << 30);
  expansion.give(4'096'000);
  const Error error = error_of([&] { expansion.give(1); });
  CHECK(error.code() == Code::limit);
  CHECK(error.message() ==
        "values of 1077837824 bytes are read already and this one has 1, at most 1077837824 are "
        "read of a file of 1000");
}

TEST_CASE("parquet expansion: pages of all columns together are bounded, one follows another") {
  ParquetExpansion expansion(1000);
  std::uint64_t one = 0, two = 0;
  for (int i = 0; i < 10; ++i) expansion.exchange(one, ParquetExpansion::kMostHeld - 100);
  expansion.exchange(two, 100);
  CHECK(error_of([&] { expansion.exchange(two, 101); }).code() == Code::limit);
  CHECK(two == 0);
  expansion.exchange(one, 0);
  expansion.exchange(two, ParquetExpansion::kMostHeld);
  CHECK(expansion.wanted() == ParquetExpansion::kMostHeld + 1);

  ParquetExpansion small(1000, 64);
  std::uint64_t page = 0;
  small.exchange(page, 64);
  CHECK(small.wanted() == 0);
  CHECK(error_of([&] { small.exchange(page, 65); }).message() ==
        "page of 65 bytes beside 0 of others, at most 64 are held");
  CHECK(small.wanted() == 65);
}

}  // namespace
}  // namespace shale
