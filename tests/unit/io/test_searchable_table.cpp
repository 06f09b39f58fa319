#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/io/searchable_table.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

struct HashedNumber {
  Hash128 key;
  std::uint64_t number = 0;
  static auto columns(auto& row) { return std::tie(row.key, row.number); }
};

struct NamedNumber {
  std::string name;
  std::uint64_t number = 0;
  static auto columns(auto& row) { return std::tie(row.name, row.number); }
};

Hash128 hash_of(std::string_view key) { return xxh3_128(as_bytes(key)); }

std::vector<std::uint64_t> numbers_of(SearchableTable<HashedNumber>& rows, std::string_view key) {
  std::vector<std::uint64_t> numbers;
  std::uint64_t place = rows.find(hash_of(key));
  while (const std::optional<HashedNumber> row = rows.next(place)) {
    if (row->key != hash_of(key)) break;
    numbers.push_back(row->number);
  }
  return numbers;
}

TEST_CASE("searchable table: each key is found among any number of them, and no other is") {
  for (const std::uint64_t keys : {0U, 1U, 2U, 31U, 32U, 33U, 64U, 65U, 5000U}) {
    CAPTURE(keys);
    const TempDir dir;
    SearchableTable<HashedNumber> rows(dir.path(), 1 << 20);
    for (std::uint64_t i = 0; i < keys; ++i) rows.add({hash_of(fmt::format("key {}", i)), ~i});
    rows.finish([] {});
    for (std::uint64_t i = 0; i < keys; ++i)
      CHECK(numbers_of(rows, fmt::format("key {}", i)) == std::vector<std::uint64_t>{~i});
    CHECK(numbers_of(rows, "key").empty());
    CHECK(numbers_of(rows, fmt::format("key {}", keys)).empty());
  }
}

TEST_CASE("searchable table: all rows of a key are found, in order, wherever marks lie") {
  const TempDir dir;
  SearchableTable<HashedNumber> rows(dir.path(), 1 << 20);
  constexpr std::uint64_t kRows = 20'000;
  for (std::uint64_t i = kRows; i > 0; --i) rows.add({hash_of(i % 2 == 0 ? "even" : "odd"), i});
  rows.finish([] {});
  const std::vector<std::uint64_t> even = numbers_of(rows, "even");
  REQUIRE(even.size() == kRows / 2);
  CHECK(even.front() == 2);
  CHECK(even.back() == kRows);
}

TEST_CASE("searchable table: with room for few marks, everything is still found") {
  const TempDir dir;
  SearchableTable<NamedNumber> rows(dir.path(), 4096);
  const std::string tail(200, 'x');
  for (std::uint64_t i = 0; i < 3000; ++i) rows.add({fmt::format("{:05}{}", i, tail), i});
  rows.finish([] {});
  for (std::uint64_t i = 0; i < 3000; i += 7) {
    std::uint64_t place = rows.find(fmt::format("{:05}", i));
    CHECK(rows.next(place)->number == i);
  }
}

TEST_CASE("searchable table: of names with NUL, what begins with one comes right behind it") {
  using namespace std::string_literals;
  const TempDir dir;
  SearchableTable<NamedNumber> rows(dir.path(), 1 << 20);
  rows.add({"a-b", 2});
  rows.add({"a\0b"s, 1});
  rows.add({"a", 0});
  rows.finish([] {});
  std::uint64_t place = rows.find("a"s);
  CHECK(rows.next(place)->name == "a");
  CHECK(rows.next(place)->name == "a\0b"s);
  CHECK(rows.next(place)->name == "a-b");
  CHECK(!rows.next(place));
}

}  // namespace
}  // namespace shale
