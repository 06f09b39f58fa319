#include <string>

#include <doctest/doctest.h>

#include "shale/shards/key_check.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("key check: two equal keys are found, among others of the same hash too") {
  const TempDir dir;
  KeyCheck check(dir.path(), 1 << 20);
  check.add(1, "another");
  for (const char* key : {"a", "b", "c", "a"}) check.add(7, key);
  const Error error = error_of([&] { check.finish(); });
  CHECK(error.code() == Code::schema);
  CHECK(error.sample()->key == "a");
}

TEST_CASE("key check: keys that differ are unique, whatever their hashes") {
  const TempDir dir;
  KeyCheck check(dir.path(), 1 << 20);
  for (const char* key : {"", "a", "b", "ab"}) check.add(7, key);
  check.add(8, "c");
  check.finish();
}

}  // namespace
}  // namespace shale
