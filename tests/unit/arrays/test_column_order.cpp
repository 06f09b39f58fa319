#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/arrays/column_order.hpp"
#include "shale/base/error.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

using Shape = std::vector<std::uint64_t>;

std::uint64_t items_of(const Shape& shape) {
  std::uint64_t items = 1;
  for (const std::uint64_t length : shape) items *= length;
  return items;
}

// The place in C order of each item in Fortran order, by counting indices up one at a time.
std::vector<std::uint64_t> places_by_hand(const Shape& shape) {
  std::vector<std::uint64_t> places;
  Shape index(shape.size(), 0);
  for (std::uint64_t n = 0; n < items_of(shape); ++n) {
    std::uint64_t place = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      place = place * shape[axis] + index[axis];
    places.push_back(place);
    for (std::size_t axis = 0; axis < shape.size() && ++index[axis] == shape[axis]; ++axis)
      index[axis] = 0;
  }
  return places;
}

const Shape kShapes[] = {{},           {1},       {5},          {2, 3},       {3, 2, 4},
                         {1, 7, 1, 2}, {4, 1, 3}, {2, 3, 4, 5}, {16, 1, 1, 9}};

TEST_CASE("column order: offsets are those that counting gives") {
  for (const Shape& shape : kShapes) {
    const std::vector<std::uint64_t> places = places_by_hand(shape);
    const ColumnOrder order(shape, 8);
    for (std::uint64_t column = 0; column < places.size(); ++column)
      CHECK(order.offset_of(column) == 8 * places[column]);
  }
}

TEST_CASE("column order: items land in their places, all at once and in parts of any size") {
  for (const Shape& shape : kShapes) {
    for (const std::size_t item_bytes : {1U, 2U, 3U, 8U, 16U}) {
      const std::vector<std::uint64_t> places = places_by_hand(shape);
      std::string in_file(places.size() * item_bytes, '\0');
      for (std::size_t i = 0; i < in_file.size(); ++i)
        in_file[i] = static_cast<char>(i * 37 + i / 251);
      std::string right(in_file.size(), '\0');
      for (std::size_t column = 0; column < places.size(); ++column)
        right.replace(places[column] * item_bytes, item_bytes, in_file, column * item_bytes,
                      item_bytes);
      const ColumnOrder order(shape, item_bytes);
      for (std::size_t at_once = 1; at_once <= places.size(); ++at_once) {
        std::string row(in_file.size(), '?');
        for (std::size_t column = 0; column < places.size(); column += at_once) {
          const std::size_t columns = std::min(at_once, places.size() - column);
          const Bytes items = as_bytes(in_file).subspan(column * item_bytes, columns * item_bytes);
          order.place(items, column, std::as_writable_bytes(std::span(row)));
        }
        CHECK(row == right);
      }
    }
  }
}

TEST_CASE("column order: with one axis or none that is longer than 1, columns keep their order") {
  CHECK(ColumnOrder(Shape{}, 4).is_kept());
  CHECK(ColumnOrder(Shape{1, 9, 1}, 4).is_kept());
  CHECK_FALSE(ColumnOrder(Shape{2, 2}, 4).is_kept());
}

TEST_CASE("column order: columns that are not in the row are a bug, not a write") {
  const ColumnOrder order(Shape{2, 3}, 1);
  std::string row(6, '?');
  const std::string items(6, 'x');
  for (const std::uint64_t first : {1U, 6U, 7U, ~0U}) {
    CHECK(error_of([&] {
            order.place(as_bytes(items), first, std::as_writable_bytes(std::span(row)));
          }).code() == Code::bug);
  }
  CHECK(row == "??????");
}

}  // namespace
}  // namespace shale
