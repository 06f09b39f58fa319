#include <cstring>

#include <doctest/doctest.h>

#include "shale/numbers/structured_columns.hpp"

namespace shale {
namespace {

TEST_CASE("structured columns: nested ones by their names, with places, and without gaps") {
  const DType dtype = DType::parse(
      "[('a', '<f4'), ('', '|V4'), ('b', [('c', '<M8[s]'), ('d', '|S2')]), (('t', 'v'), '<u8', (2, "
      "3)), ('s', [('x', '|u1')], (2,))]");
  const std::vector<StructuredColumn> columns = columns_of(dtype);
  REQUIRE(columns.size() == 5);
  CHECK(columns[0].name == "a");
  CHECK(columns[0].kind == NumberKind::float32);
  CHECK(columns[1].name == "b.c");
  CHECK(columns[1].offset == 8);
  CHECK(columns[1].kind == NumberKind::time);
  CHECK(columns[2].kind == NumberKind::none);
  CHECK(columns[3].name == "v");
  CHECK(columns[3].shape == std::vector<std::uint64_t>{2, 3});
  CHECK(columns[3].offset == 18);
  CHECK(columns[3].bytes == 48);
  CHECK(columns[4].name == "s");
  CHECK(columns[4].kind == NumberKind::none);
  CHECK(columns[4].offset + columns[4].bytes == dtype.item_bytes());
  CHECK(columns_of(DType::parse("<f4")).empty());
}

TEST_CASE("structured columns: the bytes of one, out of whole elements alone") {
  const DType dtype = DType::parse("[('a', '|u1'), ('b', '|u1', (2,))]");
  const std::vector<StructuredColumn> columns = columns_of(dtype);
  const char text[] = "abcABCxy";
  const Bytes elements = std::as_bytes(std::span(text, 8));
  CHECK(as_text(bytes_of_column(columns[1], dtype.item_bytes(), elements)) == "bcBC");
}

}  // namespace
}  // namespace shale
