#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/io/nameless_file.hpp"

#include "tests/formats/record/foreign_record_tools.hpp"

namespace shale {
namespace {

using namespace test;

struct Unpacked {
  std::optional<UnpackReport> report;
  ReadForeign read;
  std::string bytes;  // of the file that was written
};

Unpacked unpack(std::string_view bytes, std::uint64_t memory_bytes = 64 << 20,
                std::vector<std::string> fields = {}) {
  const TempDir dir;
  write_file(dir / "a", bytes);
  const InputFile file(dir / "a");
  const NamelessFile into(dir.path());
  Unpacked unpacked{
      .report = record_format.unpack(
          {.file = file, .into = into, .memory_bytes = memory_bytes, .fields = std::move(fields)}),
      .read = {},
      .bytes = {}};
  if (!unpacked.report) return unpacked;
  unpacked.read = read_foreign(into.link());
  unpacked.bytes = read_text(into.link());
  return unpacked;
}

std::string array_of(std::initializer_list<std::int64_t> values) {
  std::string bytes;
  for (const std::int64_t value : values) bytes += as_text(bytes_of(value));
  return bytes;
}

TEST_CASE("record unpack: lists of integers become arrays of int64, of one length or of any") {
  const std::string jpeg = bytes_feature("image", {"\xff\xd8"});
  const Unpacked unpacked =
      unpack(example({integers_feature("i", {1, -2, 300}), integers_feature("j", {5, 6}), jpeg}) +
             example({jpeg, integers_feature("i", {}), integers_feature("j", {-7, 8})}) +
             example({integers_feature("j", {1, 2}), jpeg}));
  CHECK(fields_of(unpacked.read.survey) == "i:tensor(?)? image:bytes j:tensor(2)");
  CHECK(unpacked.read.survey.schema.fields[0].dtype.descr() == "<i8");
  CHECK(unpacked.read.findings.empty());
  CHECK(unpacked.report->left_out.count() == 0);
  REQUIRE(unpacked.read.rows.size() == 3);
  const auto value = [&](std::size_t row, std::size_t field) {
    const FieldPlace& place = unpacked.read.rows[row].cells[field].place;
    return unpacked.bytes.substr(place.offset, place.length);
  };
  CHECK(value(0, 0) == array_of({1, -2, 300}));
  CHECK(value(1, 2) == array_of({-7, 8}));
  CHECK(value(1, 1) == "\xff\xd8");
  CHECK(unpacked.read.rows[0].sides == std::vector<std::uint64_t>{3});
  CHECK(unpacked.read.rows[1].cells[0].place.offset != kMissing);
  CHECK(unpacked.read.rows[2].cells[0].place.offset == kMissing);
}

TEST_CASE("record unpack: integers one by one, repeated names and floats that are not packed") {
  const std::string one_by_one = feature("i", message(3, "\x08\x05\x08\x06\x08\x07"));
  const std::string floats =
      feature("f", message(2, "\x0d" + packed_floats({1}) + "\x0d" + packed_floats({2})));
  const Unpacked unpacked = unpack(example({integers_feature("i", {9, 9}), one_by_one, floats}));
  CHECK(fields_of(unpacked.read.survey) == "f:tensor(2) i:tensor(3)");
  CHECK(unpacked.read.findings.empty());
  const FieldPlace& integers = unpacked.read.rows.at(0).cells[1].place;
  CHECK(unpacked.bytes.substr(integers.offset, integers.length) == array_of({5, 6, 7}));
  const FieldPlace& place = unpacked.read.rows[0].cells[0].place;
  CHECK(unpacked.bytes.substr(place.offset, place.length) == packed_floats({1, 2}));
}

TEST_CASE("record unpack: an empty list of another type is an empty list") {
  const Unpacked unpacked =
      unpack(example({floats_feature("i", {}), integers_feature("f", {})}) +
             example({integers_feature("i", {5, 6}), floats_feature("f", {1, 2, 3})}));
  CHECK(unpacked.report->left_out.entries.empty());
  CHECK(fields_of(unpacked.read.survey) == "f:tensor(?) i:tensor(?)");
  CHECK(unpacked.read.findings.empty());
  REQUIRE(unpacked.read.rows.size() == 2);
  CHECK(unpacked.read.rows[0].sides == std::vector<std::uint64_t>{0, 0});
  CHECK(unpacked.read.rows[1].sides == std::vector<std::uint64_t>{3, 2});
}

TEST_CASE("record unpack: what still cannot be taken is reported, and a file without gain is not") {
  const std::string lists = integers_feature("i", {1, 2});
  const Unpacked unpacked = unpack(example({lists, integers_feature("x", {1})}) +
                                   example({lists, floats_feature("x", {1})}));
  REQUIRE(unpacked.report->left_out.entries.size() == 1);
  CHECK(unpacked.report->left_out.entries[0].reason == "mixed_types");
  CHECK(fields_of(unpacked.read.survey) == "i:tensor(2)");
  CHECK(!unpack(example({integers_feature("i", {1}), floats_feature("f", {1, 2})})).report);
  CHECK(!unpack(framed("not an Example")).report);
}

TEST_CASE("record unpack: of named fields the arrays are written alone, a record for each") {
  const std::string jpeg = bytes_feature("image", {std::string(5000, 'j')});
  const Unpacked unpacked =
      unpack(example({integers_feature("i", {1, 2}), integers_feature("j", {5, 6}), jpeg}) +
                 example({jpeg, integers_feature("j", {5, 6, 7})}) +
                 example({integers_feature("i", {}), jpeg}),
             64 << 20, {"i"});
  REQUIRE(unpacked.report->schema.has_value());
  CHECK(unpacked.report->schema->fields.size() == 1);
  CHECK(unpacked.report->schema->fields[0].name == "i");
  CHECK(unpacked.read.rows.size() == 3);
  CHECK(unpacked.bytes.size() < 500);
  CHECK(unpacked.bytes.find(array_of({1, 2})) != std::string::npos);
  CHECK(unpacked.bytes.find(array_of({5, 6})) == std::string::npos);
}

TEST_CASE("record unpack: damage is an error, and so are numbers that do not fit into memory") {
  const std::string record = example({integers_feature("i", {1, 2}), bytes_feature("z", {"abc"})});
  std::string changed = record + record;
  changed[changed.size() - 6] ^= 1;  // in the payload of the second
  CHECK(error_of([&] { (void)unpack(changed); }).code() == Code::damaged);
  CHECK(error_of([&] { (void)unpack(record + record.substr(0, 30)); }).code() == Code::damaged);
  CHECK(error_of([&] { (void)unpack(record, 4 * 8); }).code() == Code::limit);
}

}  // namespace
}  // namespace shale
