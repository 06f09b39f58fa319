#include <algorithm>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/format/list_elements.hpp"

#include "tests/support/sample_sets.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/toy_format.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("list elements: every element of every format is where its bytes are") {
  const std::string large(300'000, 'x'), small = "ab";
  Sample sample;
  sample.key = "class/video";
  sample.values = {std::vector<Bytes>{as_bytes(large), as_bytes(small), Bytes()}, std::int64_t{3},
                   std::vector<Bytes>{as_bytes(small)}};
  const Schema schema{.fields = {{"frames", Kind::list, {}, {}},
                                 {"label", Kind::integer, {}, {}},
                                 {"more", Kind::list, {}, {}}}};
  for (const Format* format : all_formats()) {
    if (std::ranges::find(format->can.kinds, Kind::list) == format->can.kinds.end()) continue;
    CAPTURE(format->name);
    const OptionSet options(format->options);
    const ShardLayout layout = format->layout(schema, options);
    CHECK(layout.has_elements);
    Record record = format->encode(sample, schema, options);
    locate_elements(record, schema, *format, layout);
    REQUIRE(record.row.elements.size() == 4);
    const Bytes expected[] = {as_bytes(large), as_bytes(small), Bytes(), as_bytes(small)};
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      const FieldPlace& element = record.row.elements[i];
      BlobView part(record.parts[layout.field_part[i < 3 ? 0 : 2]]);
      const Bytes found = part(element.offset, element.length);
      CHECK(std::equal(found.begin(), found.end(), expected[i].begin(), expected[i].end()));
      CHECK(element.crc32c == crc32c(expected[i]));
    }
    const FieldPlace& list = record.row.cells[0].place;
    BlobView part(record.parts[layout.field_part[0]]);
    const std::vector<Bytes> split =
        split_list(*format, part(list.offset, list.length), list,
                   elements_of_field(record.row.elements, record.row.cells, schema, 0));
    REQUIRE(split.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::ranges::equal(split[i], expected[i]));
  }
}

TEST_CASE("list elements: a list of another length than its row says is damage") {
  Sample sample;
  sample.key = "k";
  sample.values = {std::vector<Bytes>{Bytes(), Bytes()}};
  const Schema schema{.fields = {{"frames", Kind::list, {}, {}}}};
  const OptionSet options(toy_format.options);
  Record record = toy_format.encode(sample, schema, options);
  record.row.cells[0].place.count = 3;
  const ShardLayout layout = toy_format.layout(schema, options);
  CHECK(error_of([&] { locate_elements(record, schema, toy_format, layout); }).code() ==
        Code::damaged);
}

TEST_CASE("list elements: more than there may be are refused before memory is taken for them") {
  Sample sample;
  sample.key = "k";
  sample.values = {std::vector<Bytes>(kMaxElements + 1)};
  const Schema schema{.fields = {{"frames", Kind::list, {}, {}}}};
  for (const Format* format : all_formats()) {
    if (std::ranges::find(format->can.kinds, Kind::list) == format->can.kinds.end()) continue;
    CAPTURE(format->name);
    const OptionSet options(format->options);
    const ShardLayout layout = format->layout(schema, options);
    const Error error = error_of([&] {
      Record record = format->encode(sample, schema, options);
      locate_elements(record, schema, *format, layout);
    });
    CHECK(error.code() == Code::limit);
  }
}

}  // namespace
}  // namespace shale
