#include <cstring>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"

#include "tests/formats/hdf5/foreign_files.hpp"
#include "tests/formats/hdf5/hdf5_shard_tools.hpp"

// Lists: the elements in one dataset, where each ends in a second, which are whose in a third.

namespace shale {
namespace {

using namespace test;

const Schema kVideos{.fields = {{"frames", Kind::list, {}, {}}, {"label", Kind::integer, {}, {}}}};

Sample video(std::string key, std::vector<Bytes> frames) {
  return {.key = std::move(key), .values = {std::move(frames), std::int64_t{7}}};
}

std::vector<Sample> videos() {
  return {video("a", {as_bytes("one"), Bytes(), as_bytes("three")}), video("b", {}),
          video("c", {as_bytes("4")})};
}

std::uint64_t offset_in_file(const std::string& path, const std::string& name) {
  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(path);
  return H5Dget_offset(dataset_in_library(file, name).id());
}

void put_offset(std::string& bytes, std::uint64_t offset, std::uint64_t number) {
  std::memcpy(bytes.data() + offset, &number, sizeof(number));
}

TEST_CASE(
    "hdf5 lists: elements follow one another, with their offsets and the first of each list") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "a.h5", kVideos, videos());
  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  CHECK(values_in_library(file, "frames") == "onethree4");
  CHECK(values_in_library(file, "frames_offset") == raw<std::uint64_t>({0, 3, 3, 8, 9}));
  CHECK(values_in_library(file, "frames_first") == raw<std::uint64_t>({0, 3, 3, 4}));
}

TEST_CASE("hdf5 lists: a scan gives the rows and elements that the writer gave") {
  const TempDir dir;
  std::vector<IndexRow> rows = write_hdf5_shard(dir / "a.h5", kVideos, videos());
  const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", kVideos);
  CHECK(scanned.findings.empty());
  CHECK(scanned.rows == rows);
  REQUIRE(scanned.rows[0].elements.size() == 3);
  CHECK(scanned.rows[0].cells[0].place.count == 3);
  CHECK(scanned.rows[0].cells[0].place.crc32c == crc32c(as_bytes("onethree")));
}

TEST_CASE("hdf5 lists: the size of a shard is forecast to the byte") {
  const TempDir dir;
  const auto sizer = hdf5_format.create_sizer(kVideos, kHdf5Options);
  for (const Sample& sample : videos()) {
    std::vector<std::uint64_t> parts;
    for (const Blob& part : hdf5_format.encode(sample, kVideos, kHdf5Options).parts)
      parts.push_back(part.size());
    sizer->add(parts, 1);
  }
  (void)write_hdf5_shard(dir / "a.h5", kVideos, videos());
  const std::vector<std::uint64_t> nothing(4);
  CHECK(sizer->size_with(nothing, 0).at(0) == read_text(dir / "a.h5").size());
}

// Places that a scan gives are inside of the file, whatever its offsets say.
void check_inside(const std::vector<IndexRow>& rows, std::uint64_t size) {
  const auto check = [&](const FieldPlace& place) {
    if (place.offset == kMissing) return;
    CHECK(place.offset <= size);
    CHECK(place.length <= size - place.offset);
  };
  for (const IndexRow& row : rows) {
    check(row.cells[0].place);
    CHECK(row.elements.size() == row.cells[0].place.count);
    for (const FieldPlace& element : row.elements) check(element);
  }
}

TEST_CASE("hdf5 lists: offsets that descend, exceed their values or are huge are found") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "a.h5", kVideos, videos());
  const std::string whole = read_text(dir / "a.h5");
  for (const std::string& name : {std::string("frames_offset"), std::string("frames_first")}) {
    const std::uint64_t begin = offset_in_file(dir / "a.h5", name);
    const std::size_t numbers = name == "frames_first" ? 4 : 5;
    for (std::size_t i = 0; i < numbers; ++i) {
      for (const std::uint64_t number :
           {std::uint64_t{5}, std::uint64_t{10}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
        CAPTURE(name);
        CAPTURE(i);
        CAPTURE(number);
        std::string bytes = whole;
        put_offset(bytes, begin + 8 * i, number);
        if (name == "frames_offset" && number == 5 && (i == 2 || i == 3))
          continue;  // another sound division
        write_file(dir / "b.h5", bytes);
        const ScannedHdf5 scanned = scan_hdf5(dir / "b.h5", kVideos);
        CHECK_FALSE(scanned.findings.empty());
        check_inside(scanned.rows, bytes.size());
      }
    }
  }
}

TEST_CASE("hdf5 lists: firsts that go back and forth do not list elements again and again") {
  const TempDir dir;
  std::vector<Sample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back(video("k", {as_bytes("1"), as_bytes("2")}));
  (void)write_hdf5_shard(dir / "a.h5", kVideos, samples);
  std::string bytes = read_text(dir / "a.h5");
  const std::uint64_t begin = offset_in_file(dir / "a.h5", "frames_first");
  for (std::uint64_t i = 0; i < 8; ++i) put_offset(bytes, begin + 8 * i, i % 2 == 0 ? 0 : 16);
  write_file(dir / "b.h5", bytes);
  const ScannedHdf5 scanned = scan_hdf5(dir / "b.h5", kVideos);
  std::size_t elements = 0;
  for (const IndexRow& row : scanned.rows) elements += row.elements.size();
  CHECK(elements <= 16);
  CHECK_FALSE(scanned.findings.empty());
}

TEST_CASE("hdf5 lists: a field with the name of one of their datasets is refused") {
  for (const std::string& name : {std::string("frames_first"), std::string("frames_offset")}) {
    const Schema schema{.fields = {{name, Kind::integer, {}, {}}, {"frames", Kind::list, {}, {}}}};
    const Error error = error_of([&] { (void)hdf5_format.layout(schema, kHdf5Options); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().find("'" + name + "' has the name of the dataset") != std::string::npos);
  }
}

TEST_CASE("hdf5 lists: a file of another tool with offsets and firsts holds lists") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.flat("frames", "onethree4");
    file.offsets("frames_offset", {0, 3, 3, 8, 9});
    file.offsets("frames_first", {0, 3, 3, 4});
    file.count("label", H5T_STD_I64LE, {3});
  }
  const ForeignRows read = read_foreign(dir / "a.h5");
  CHECK(read.findings.empty());
  REQUIRE(read.survey.schema.fields.size() == 2);
  CHECK(read.survey.schema.fields[0].kind == Kind::list);
  REQUIRE(read.rows.size() == 3);
  CHECK(read.rows[0].cells[0].place.count == 3);
  CHECK(read.rows[0].cells[0].place.length == 8);
  REQUIRE(read.rows[0].elements.size() == 3);
  CHECK(read.rows[0].elements[2].length == 5);
  CHECK(read.rows[1].cells[0].place.count == 0);
}

TEST_CASE("hdf5 lists: firsts that do not divide all elements make no lists of them") {
  for (const std::vector<std::int64_t>& firsts :
       {std::vector<std::int64_t>{0, 3, 2, 4}, {1, 3, 3, 4}, {0, 3, 3, 5}, {0, 1, 2, 3}}) {
    const TempDir dir;
    {
      ForeignFile file(dir / "a.h5");
      file.flat("frames", "onethree4");
      file.offsets("frames_offset", {0, 3, 3, 8, 9});
      file.offsets("frames_first", firsts);
    }
    const ForeignRows read = read_foreign(dir / "a.h5");
    REQUIRE(read.survey.schema.fields.size() == 2);
    CHECK(read.survey.schema.fields[0].kind == Kind::bytes);
    CHECK(read.survey.schema.fields[1].name == "frames_first");
  }
}

}  // namespace
}  // namespace shale
