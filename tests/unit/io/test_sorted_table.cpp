#include <doctest/doctest.h>

#include "shale/io/sorted_table.hpp"

#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

struct Place {
  std::string_view folder, name;
  static auto columns(auto& row) { return std::tie(row.folder, row.name); }
};

struct Found {
  Place place;
  std::int64_t label = 0;
  Hash128 hash;
  bool is_first = false;
  std::string rest;
  static auto columns(auto& row) {
    return std::tie(row.place, row.label, row.hash, row.is_first, row.rest);
  }
};

struct NumberedKey {
  std::string key;
  std::uint64_t number = 0;
  static auto columns(auto& row) { return std::tie(row.key, row.number); }
};

TEST_CASE("sorted table: rows come back as they were, by their columns from the first one on") {
  const TempDir dir;
  SortedTable<Found> table(dir.path(), 1 << 20);
  table.add({{"a/b", "1"}, -7, {3, 4}, true, std::string("x\0y", 3)});
  table.add({{"a", "2"}, 5, {1, 2}, false, ""});
  table.add({{"a", "10"}, 6, {}, false, "z"});
  table.finish();
  CHECK(table.count() == 3);
  CHECK(table.next()->place.name == "10");
  CHECK(table.next()->label == 5);
  const std::optional<Found> last = table.next();
  CHECK(last->place.folder == "a/b");
  CHECK(last->label == -7);
  CHECK(last->hash == Hash128{3, 4});
  CHECK(last->is_first);
  CHECK(last->rest == std::string("x\0y", 3));
  CHECK_FALSE(table.next());
}

TEST_CASE("sorted table: strings with NUL are sorted bytewise, whatever stands behind them") {
  const std::string keys[] = {"", {"\0", 1}, {"\0\0", 2}, {"\0\1", 2}, {"a\0b", 3}, "a-b"};
  const TempDir dir;
  SortedTable<NumberedKey> table(dir.path(), 1 << 20);
  for (std::uint64_t i = std::size(keys); i > 0; --i) table.add({keys[i - 1], ~i});
  table.finish();
  for (const std::string& key : keys) CHECK(table.next()->key == key);
}

TEST_CASE(
    "sorted table: the row that is next stays until a step, and there is none behind the last") {
  const TempDir dir;
  SortedTable<Place> table(dir.path(), 1 << 20);
  table.add({"a", "1"});
  table.add({"a", "2"});
  table.finish();
  for (int pass = 0; pass < 2; ++pass) {
    CHECK(table.row()->name == "1");
    CHECK(table.row()->name == "1");
    table.step();
    CHECK(table.next()->name == "2");
    CHECK(table.row() == nullptr);
    table.step();
    CHECK(table.row() == nullptr);
    table.rewind();
  }
}

}  // namespace
