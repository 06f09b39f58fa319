#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/labels/hashed_rows.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("hashed rows: each key is found among any number of them, and no other is") {
  for (const std::uint64_t keys : {0U, 1U, 2U, 31U, 32U, 33U, 64U, 65U, 5000U}) {
    CAPTURE(keys);
    const TempDir dir;
    HashedRows rows(dir.path(), 1 << 20);
    for (std::uint64_t i = 0; i < keys; ++i) rows.add(fmt::format("key {}", i), i, ~i);
    rows.finish([] {});
    for (std::uint64_t i = 0; i < keys; ++i)
      CHECK(rows.find(fmt::format("key {}", i)) == std::vector<HashedRows::Numbers>{{i, ~i}});
    CHECK(rows.find("key").empty());
    CHECK(rows.find(fmt::format("key {}", keys)).empty());
  }
}

TEST_CASE("hashed rows: all entries of a key are found, in order") {
  const TempDir dir;
  HashedRows rows(dir.path(), 1 << 20);
  for (std::uint64_t i = 100; i > 0; --i) rows.add(i % 2 == 0 ? "even" : "odd", i, 0);
  rows.finish([] {});
  const std::vector<HashedRows::Numbers> even = rows.find("even");
  REQUIRE(even.size() == 50);
  CHECK(even.front().first == 2);
  CHECK(even.back().first == 100);
}

}  // namespace
}  // namespace shale
