#include <array>

#include <doctest/doctest.h>

#include "shale/data/shard_index.hpp"

namespace shale {

TEST_CASE("move places: each place moves by its own base, lengths and numbers stay") {
  IndexRow row;
  row.key = {.offset = 1, .length = 5, .crc32c = 9};
  row.cells = {{.place = {.offset = 10, .length = 3}}, {.place = {}, .integer = 7}};
  row.record_offset = 100;
  row.record_length = 50;
  IndexRow expected = row;
  expected.key.offset = 1001;
  expected.cells[0].place.offset = 2010;
  expected.record_offset = 4100;

  move_places(row, 1000, std::array<std::uint64_t, 2>{2000, 3000}, 4000);

  CHECK(row == expected);
}

TEST_CASE("move places: what is missing stays missing") {
  IndexRow row;
  row.cells = {{}};
  const IndexRow before = row;

  move_places(row, 1000, std::array<std::uint64_t, 1>{2000}, 4000);

  CHECK(row == before);
}

}  // namespace shale
