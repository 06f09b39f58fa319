#include <cstring>
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/formats/hdf5/foreign_files.hpp"
#include "tests/formats/hdf5/hdf5_shard_tools.hpp"

// Tensors whose samples differ in shape, and values that some samples lack.

namespace shale {
namespace {

using namespace test;

Field optional(Field field) {
  field.is_optional = true;
  return field;
}

const Schema kVaried{.fields = {tensor("boxes", "<f4", {kFreeSide, 2}),
                                tensor("tokens", "<u2", {kFreeSide}),
                                optional({"label", Kind::integer, {}, {}}),
                                optional(tensor("depth", "<u2", {2})),
                                optional({"note", Kind::text, {}, {}}),
                                {.name = "captions", .kind = Kind::list, .elements = Kind::text}}};

// Three samples; the second has no more than it must.
std::vector<Sample> varied_samples() {
  static const std::vector<float> kBoxes = {1, 2, 3, 4, 5, 6};
  static const std::vector<std::uint16_t> kTokens = {7, 8, 9}, kDepth = {10, 11};
  const Bytes boxes = std::as_bytes(std::span(kBoxes)), depth = std::as_bytes(std::span(kDepth));
  const Bytes tokens = std::as_bytes(std::span(kTokens));
  return {{.key = "a",
           .values = {boxes.first(16), tokens, std::int64_t{3}, depth, as_bytes("a note"),
                      std::vector<Bytes>{as_bytes("one"), as_bytes("two")}},
           .sides = {2, 2, 3}},
          {.key = "b",
           .values = {Bytes(), Bytes(), std::monostate(), std::monostate(), std::monostate(),
                      std::vector<Bytes>()},
           .sides = {0, 2, 0}},
          {.key = "c",
           .values = {boxes.last(8), tokens.first(4), std::int64_t{0}, depth, Bytes(),
                      std::vector<Bytes>{as_bytes("h\xc3\xa9")}},
           .sides = {1, 2, 2}}};
}

std::uint64_t place_of_dataset(const std::string& path, const std::string& name) {
  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(path);
  return H5Dget_offset(dataset_in_library(file, name).id());
}

TEST_CASE("hdf5 varied: shapes and presence stand beside the values, as FORMAT.md says") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "a.h5", kVaried, varied_samples());
  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  CHECK(values_in_library(file, "boxes") == raw<float>({1, 2, 3, 4, 5, 6}));
  CHECK(values_in_library(file, "boxes_offset") == raw<std::uint64_t>({0, 4, 4, 6}));
  CHECK(values_in_library(file, "boxes_shape") == raw<std::uint64_t>({2, 2, 0, 2, 1, 2}));
  CHECK(values_in_library(file, "tokens") == raw<std::uint16_t>({7, 8, 9, 7, 8}));
  CHECK(values_in_library(file, "tokens_offset") == raw<std::uint64_t>({0, 3, 3, 5}));
  CHECK(H5Lexists(file.id(), "tokens_shape", H5P_DEFAULT) == 0);
  CHECK(values_in_library(file, "label") == raw<std::int64_t>({3, 0, 0}));
  CHECK(values_in_library(file, "depth") == raw<std::uint16_t>({10, 11, 0, 0, 10, 11}));
  CHECK(values_in_library(file, "note_offset") == raw<std::uint64_t>({0, 6, 6, 6}));
  for (const std::string name : {"label", "depth", "note"}) {
    CAPTURE(name);
    CHECK(values_in_library(file, name + "_present") == std::string("\1\0\1", 3));
  }
}

TEST_CASE("hdf5 varied: a scan gives the rows that the writer gave") {
  const TempDir dir;
  const std::vector<IndexRow> rows = write_hdf5_shard(dir / "a.h5", kVaried, varied_samples());
  const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", kVaried);
  CHECK(scanned.findings.empty());
  CHECK(scanned.rows == rows);
  CHECK(scanned.rows[1].cells[2].lacks_number);
  CHECK(scanned.rows[1].cells[4].place.offset == kMissing);
  CHECK(!scanned.rows[2].cells[2].lacks_number);
  CHECK(scanned.rows[2].cells[4].place.offset != kMissing);
}

TEST_CASE("hdf5 varied: the size of a shard is forecast to the byte") {
  const TempDir dir;
  const auto sizer = hdf5_format.create_sizer(kVaried, kHdf5Options);
  std::vector<std::uint64_t> parts;
  for (const Sample& sample : varied_samples()) {
    parts.clear();
    for (const Blob& part : hdf5_format.encode(sample, kVaried, kHdf5Options).parts)
      parts.push_back(part.size());
    sizer->add(parts, 1);
  }
  (void)write_hdf5_shard(dir / "a.h5", kVaried, varied_samples());
  const std::vector<std::uint64_t> nothing(parts.size());
  CHECK(sizer->size_with(nothing, 0).at(0) == read_text(dir / "a.h5").size());
}

TEST_CASE("hdf5 varied: shapes and flags that contradict the values are findings") {
  struct Row {
    const char *dataset, *finding;
    std::uint64_t byte;
    char value;
  };
  constexpr Row kRows[] = {
      {"boxes_shape", "the shape is not that of the value", 0, 1},
      {"boxes_shape", "the shape is not that of the value", 8, 4},
      {"boxes_shape", "the shape is not that of the value", 7, 127},
      {"boxes_offset", "the shape is not that of the value", 8, 5},
      {"boxes_offset", "no value can lie between these offsets", 15, 127},
      {"label", "a value that is absent is stored", 8, 1},
      {"label_present", "a value that is absent is stored", 0, 0},
      {"note_present", "a value that is absent is stored", 0, 0},
      {"depth_present", "bool of field 'depth' is 2, neither 0 nor 1", 1, 2},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.dataset);
    CAPTURE(row.byte);
    const TempDir dir;
    (void)write_hdf5_shard(dir / "a.h5", kVaried, varied_samples());
    std::string bytes = read_text(dir / "a.h5");
    bytes[place_of_dataset(dir / "a.h5", row.dataset) + row.byte] = row.value;
    write_file(dir / "a.h5", bytes);
    const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", kVaried);
    REQUIRE(!scanned.findings.empty());
    CHECK(scanned.findings[0].message == row.finding);
    CHECK(scanned.rows.size() == 3);
  }
}

TEST_CASE("hdf5 varied: fields with the names of datasets beside others are refused") {
  const auto refusal = [](Field field, const std::string& other) {
    const Schema schema{.fields = {std::move(field), {other, Kind::integer, {}, {}}}};
    try {
      (void)hdf5_format.layout(schema, kHdf5Options);
    } catch (const Error& error) {
      return std::string(error.message());
    }
    return std::string();
  };
  const Field boxes = tensor("a", "<f4", {kFreeSide, 2}), tokens = tensor("a", "<f4", {kFreeSide});
  CHECK(
      refusal(boxes, "a_shape") ==
      "field 'a_shape' has the name of the dataset that says which shapes the values of 'a' have");
  CHECK(refusal(boxes, "a_offset").find("where the values of 'a' begin") != std::string::npos);
  CHECK(refusal(optional({"a", Kind::integer, {}, {}}), "a_present") ==
        "field 'a_present' has the name of the dataset that says which samples have 'a'");
  CHECK(refusal(tokens, "a_shape").empty());
  CHECK(refusal(boxes, "a_present").empty());
}

std::string golden_varied() {
  const auto root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  return (root / "formats/hdf5/golden/rows/varied.h5").string();
}

TEST_CASE("hdf5 golden: values that differ in shape or are absent give the same bytes as ever") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "a.h5", kVaried, varied_samples());
  CHECK((read_text(dir / "a.h5") == read_text(golden_varied())));
}

// Not a test: format_tests --no-skip -tc="hdf5 golden: varied rows written anew"
TEST_CASE("hdf5 golden: varied rows written anew" * doctest::skip()) {
  (void)write_hdf5_shard(golden_varied(), kVaried, varied_samples());
}

}  // namespace
}  // namespace shale
