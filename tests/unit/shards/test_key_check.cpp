#include <string>

#include <doctest/doctest.h>

#include "shale/shards/key_check.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// Keys of rows that were written before, by shard and row.
std::string written_key(std::uint64_t shard, std::uint64_t row) {
  return std::to_string(shard) + "/" + std::to_string(row);
}

TEST_CASE("key check: two equal keys are found, whether they are new or were written before") {
  const TempDir dir;
  struct Row {
    std::string claim;
    bool first_is_written, second_is_written, is_equal;
  };
  const Row rows[] = {{"two new ones", false, false, true},
                      {"a new one and a written one", true, false, true},
                      {"two written ones", true, true, false},
                      {"others of the same hash", false, true, false}};
  for (const Row& row : rows) {
    CAPTURE(row.claim);
    KeyCheck check(dir.path(), 1 << 20);
    check.add(1, "another");
    const auto add = [&](bool is_written, std::uint64_t number) {
      if (is_written) {
        check.add_written(7, 2, number);
      } else {
        check.add(7, row.is_equal ? "2/5" : "other");
      }
    };
    add(row.first_is_written, 5);
    add(row.second_is_written, 6);
    if (!row.is_equal) {
      check.finish(written_key);
      continue;
    }
    const Error error = error_of([&] { check.finish(written_key); });
    CHECK(error.code() == Code::schema);
    CHECK(error.sample()->key == "2/5");
  }
}

TEST_CASE("key check: equal keys are found among others of the same hash") {
  const TempDir dir;
  KeyCheck check(dir.path(), 1 << 20);
  for (const char* key : {"a", "b", "c", "a"}) check.add(7, key);
  CHECK(error_of([&] { check.finish(written_key); }).sample()->key == "a");
}

TEST_CASE("key check: keys are read only where hashes are equal") {
  const TempDir dir;
  KeyCheck check(dir.path(), 1 << 20);
  check.add(1, "a");
  check.add_written(2, 0, 0);
  check.add(3, "b");
  std::uint64_t reads = 0;
  check.finish([&](std::uint64_t, std::uint64_t) {
    ++reads;
    return std::string();
  });
  CHECK(reads == 0);
}

}  // namespace
}  // namespace shale
