#include <algorithm>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/loading/loader.hpp"

#include "tests/contract/contract_tools.hpp"

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

TEST_CASE(
    "list elements: single ones are those of the whole list, with and without a list of them") {
  for_each_layout([](const Format& format, const Schema& schema) {
    if (!schema.has_lists()) return;
    for (const bool lists_elements : {true, false}) {
      CAPTURE(lists_elements);
      if (!lists_elements && format.walk_list == nullptr) continue;
      const TempDir dir;
      const SampleSet set = odd_samples(schema);
      (void)write_set(format, set, dir / "out",
                      {.limit_samples = 5, .lists_elements = lists_elements});
      const Loader loader({.path = dir / "out", .proof = Proof::all, .generator = "shale test"},
                          {});
      for (std::uint64_t row = 0; row < loader.size(); ++row) {
        const std::vector<LocatedSample> sample = loader.locate({&row, 1});
        for (std::size_t f = 0; f < schema.fields.size(); ++f) {
          const auto* list = std::get_if<std::vector<Bytes>>(&set.samples[row].values[f]);
          if (list == nullptr) continue;
          for (std::uint64_t k = list->size(); k-- > 0;) {
            const std::vector<FieldPlace> places = loader.elements(sample[0], f, {&k, 1});
            std::vector<std::byte> bytes(places.at(0).length);
            const Fetch fetch{&sample[0], f, bytes, places[0]};
            loader.fetch({&fetch, 1});
            CHECK(std::ranges::equal(bytes, (*list)[k]));
          }
          const std::uint64_t none = list->size();
          CHECK(error_of([&] {
                  (void)loader.elements(sample[0], f, {&none, 1});
                }).code() == Code::not_found);
        }
      }
    }
  });
}

}  // namespace
}  // namespace shale
