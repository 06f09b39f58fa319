#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/verify/sample_measure.hpp"

namespace shale {
namespace {

const Schema kSchema{.fields = {
                         {.name = "frames", .kind = Kind::list},
                         {.name = "n", .kind = Kind::integer, .is_optional = true},
                         {.name = "words", .kind = Kind::list, .is_optional = true},
                         {.name = "x",
                          .kind = Kind::tensor,
                          .dtype = DType::parse("<f4"),
                          .shape = {kFreeSide, kFreeSide}},
                     }};

Record record() {
  Record made;
  made.row.cells = {{.place = {.offset = 0, .length = 9, .crc32c = 1, .count = 2}},
                    {.place = {}, .integer = 0},
                    {.place = {.offset = 9, .length = 4, .crc32c = 2, .count = 1}},
                    {.place = {.offset = 20, .length = 24, .crc32c = 3}}};
  made.row.elements = {{.length = 4, .crc32c = 5}, {.length = 5, .crc32c = 6}, {.length = 4}};
  made.row.sides = {2, 3};
  return made;
}

// "2: message: found F, expected E", beside the record above; empty: no field differs.
std::string difference(const Record& ours) {
  const std::optional<MeasuredDifference> found = difference_of(
      measure_of(ours, kSchema), measure_of(record(), kSchema), kSchema, "the source");
  if (!found) return {};
  const std::string both =
      found->found.empty() ? "" : ": found " + found->found + ", expected " + found->expected;
  return std::to_string(found->field) + ": " + found->message + both;
}

TEST_CASE("sample measure: what is the same differs in no field") {
  CHECK(difference(record()).empty());
}

TEST_CASE("sample measure: an absent number is not 0, an absent list not an empty one") {
  Record number = record(), list = record();
  number.row.cells[1].lacks_number = true;
  list.row.cells[2].place = {};
  list.row.elements.pop_back();
  CHECK(difference(number) == "1: value differs from the source: found absent, expected 0");
  CHECK(difference(list) == "2: value differs from the source: found absent, expected 1 element");
}

TEST_CASE("sample measure: elements are counted in their own list, frames by that name") {
  Record frame = record(), word = record(), more = record();
  frame.row.cells[0].place.crc32c = 7;
  frame.row.elements[1].crc32c = 7;
  word.row.cells[2].place.crc32c = 7;
  word.row.elements[2] = {.length = 3, .crc32c = 7};
  more.row.cells[2].place = {.offset = 9, .length = 8, .crc32c = 7, .count = 2};
  more.row.elements.push_back({.length = 4});
  CHECK(difference(frame) == "0: frame 1 differs from the source");
  CHECK(difference(word) == "2: element 0 differs in size from the source");
  CHECK(difference(more) ==
        "2: sample has another number of elements than the source: found 2, expected 1");
}

TEST_CASE("sample measure: another shape is named, also where the bytes are the same") {
  Record turned = record();
  turned.row.sides = {3, 2};
  CHECK(difference(turned) ==
        "3: sample differs in shape from the source: found (3, 2), expected (2, 3)");
}

}  // namespace
}  // namespace shale
