#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/formats/hdf5/foreign_files.hpp"
#include "tests/support/sampled_walk.hpp"

// Files that were damaged by accident or on purpose: an error or findings, and never a place
// outside of the file.

namespace shale {
namespace {

using test::error_of;
using test::ForeignFile;
using test::ForeignRows;
using test::read_foreign;
using test::TempDir;

// A small file of every kind of column; `is_old` chooses between the two generations of structures.
std::string sound_file(bool is_old) {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5", 0, is_old);
    file.sequences("image", {"JPEGJPEG", "", "PNG"});
    file.strings("key", {"a", "bb", "ccc"});
    file.flat("mask", "0123456789");
    file.offsets("mask_offset", {0, 4, 4, 10});
    file.count("label", H5T_STD_I64LE, {3});
    file.chunked({1, 2}).count("x", H5T_STD_I16LE, {3, 2});
  }
  return test::read_text(dir / "a.h5");
}

// Reads a file of these bytes, in full; true if nothing is wrong with it.
bool is_sound(const std::string& path) {
  const std::uint64_t size = InputFile(path).size();
  const auto is_inside = [&](const FieldPlace& place) {
    return place.offset == kMissing ||
           (place.offset <= size && place.length <= size - place.offset);
  };
  try {
    const ForeignRows all = read_foreign(path);
    for (const IndexRow& row : all.rows) {
      REQUIRE(is_inside(row.key));
      for (const IndexCell& cell : row.cells) REQUIRE(is_inside(cell.place));
    }
    return all.findings.empty();
  } catch (const Error& error) {
    const Code code = error.code();
    CAPTURE(error.what());
    REQUIRE((code == Code::damaged || code == Code::unsupported || code == Code::limit));
    return false;
  }
}

TEST_CASE("hdf5 hostile: a file cut at any of many lengths is never taken for whole") {
  for (const bool is_old : {true, false}) {
    const TempDir dir;
    const std::string sound = sound_file(is_old);
    test::write_file(dir / "a.h5", sound);
    CHECK(is_sound(dir / "a.h5"));
    for (std::size_t length = sound.size() - 1; length > 0;
         length -= std::min<std::size_t>(length, test::kIsInstrumented ? 503 : 101)) {
      CAPTURE(length);
      std::filesystem::resize_file(dir / "a.h5", length);
      CHECK_FALSE(is_sound(dir / "a.h5"));
    }
  }
}

TEST_CASE("hdf5 hostile: bytes changed at random give errors, findings or other values") {
  constexpr unsigned kSeed = 11, kFiles = test::kIsInstrumented ? 20 : 100;
  std::mt19937 random(kSeed);
  for (const bool is_old : {true, false}) {
    const TempDir dir;
    const std::string sound = sound_file(is_old);
    for (unsigned i = 0; i < kFiles; ++i) {
      CAPTURE(i);
      std::string changed = sound;
      for (int change = 0; change < 4; ++change)
        changed[random() % changed.size()] = static_cast<char>(random());
      test::write_file(dir / "a.h5", changed);
      (void)is_sound(dir / "a.h5");
    }
  }
}

// A file of two sequences, with something written over the place that `where` finds.
struct Spoiled {
  std::string_view says;
  std::size_t from_collection;  // of the byte to be changed, from "GCOL"
  std::string_view bytes;
};

constexpr Spoiled kSpoiled[] = {
    {"no collection begins there", 0, "X"},
    {"no collection begins there", 4, "\2"},
    {"a collection of 1099511627776 bytes", 8, std::string_view("\0\0\0\0\0\1\0\0", 8)},
    {"the collection has no object 1", 16, "\7"},
    {"object 1 has 2 bytes, but 4 are requested", 24, "\2"},
    {"object 1 has 65280 bytes", 24, std::string_view("\0\xff", 2)},
};

TEST_CASE("hdf5 hostile: a global heap that is off is a finding with dataset, byte and row") {
  for (const Spoiled& spoiled : kSpoiled) {
    CAPTURE(spoiled.says);
    const TempDir dir;
    ForeignFile(dir / "a.h5").sequences("image", {"JPEG", "PNG"});
    const Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
    std::string bytes = test::read_text(dir / "a.h5");
    const std::size_t collection = bytes.find("GCOL");
    bytes.replace(collection + spoiled.from_collection, spoiled.bytes.size(), spoiled.bytes);
    test::write_file(dir / "a.h5", bytes);

    const ForeignRows all = test::scan_foreign(dir / "a.h5", survey);

    REQUIRE(!all.findings.empty());
    const Finding& finding = all.findings[0];
    CAPTURE(describe(finding));
    CHECK(finding.message.find(spoiled.says) != std::string::npos);
    CHECK(finding.file == "a.h5");
    CHECK(finding.field == "image");
    CHECK(finding.row == 0);
    CHECK(finding.offset.has_value());
    CHECK(all.rows.size() == 2);
    CHECK(all.of("image")[0] == "missing");
  }
}

// Changes the 16-byte elements of a file of sequences; returns what the scan finds.
ForeignRows with_elements(const std::vector<std::string>& values,
                          const std::function<void(std::string&, std::size_t)>& change) {
  const TempDir dir;
  ForeignFile(dir / "a.h5").sequences("image", values);
  const Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
  std::string bytes = test::read_text(dir / "a.h5");
  // Element 0 refers to object 1 of the only collection.
  const std::uint64_t collection = bytes.find("GCOL");
  std::string element(16, '\0');
  const auto length = static_cast<std::uint32_t>(values[0].size());
  std::memcpy(element.data(), &length, 4);
  std::memcpy(element.data() + 4, &collection, 8);
  element[12] = 1;
  const std::size_t at = bytes.find(element);
  REQUIRE(at != std::string::npos);
  change(bytes, at);
  test::write_file(dir / "a.h5", bytes);
  return test::scan_foreign(dir / "a.h5", survey);
}

TEST_CASE("hdf5 hostile: a reference outside of the file is a finding, and the next row is read") {
  const ForeignRows all =
      with_elements({"JPEG", "PNG"}, [](std::string& bytes, std::size_t at) { bytes[at + 9] = 1; });
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].message.find("refers to the global heap at byte") != std::string::npos);
  CHECK(all.of("image") == std::vector<std::string>{"missing", "PNG"});
}

TEST_CASE("hdf5 hostile: a value of no length is empty, wherever it refers to") {
  const ForeignRows all = with_elements({"JPEG", "PNG"}, [](std::string& bytes, std::size_t at) {
    bytes[at] = 0;
    bytes[at + 9] = 1;
  });
  CHECK(all.findings.empty());
  CHECK(all.of("image") == std::vector<std::string>{"", "PNG"});
}

TEST_CASE("hdf5 hostile: values that all lie in one place are told, and do not multiply the work") {
  std::vector<std::string> values(64, std::string(100, 'v'));
  values[0] = std::string(3000, 'L');
  const ForeignRows all = with_elements(values, [](std::string& bytes, std::size_t at) {
    for (std::size_t i = 1; i < 64; ++i) bytes.replace(at + 16 * i, 16, bytes, at, 16);
  });
  REQUIRE(!all.findings.empty());
  CHECK(all.findings[0].message.find("overlap") != std::string::npos);
}

TEST_CASE("hdf5 hostile: offsets that descend, or lead beyond the bytes, are findings") {
  for (const std::vector<std::int64_t>& at :
       {std::vector<std::int64_t>{0, 5, 3, 8}, {0, 3, 5, 9}, {0, -1, 5, 8}}) {
    const TempDir dir;
    {
      ForeignFile file(dir / "a.h5");
      file.flat("image", "01234567");
      file.offsets("image_offset", {0, 3, 5, 8}, H5T_STD_I64LE);
      file.count("label", H5T_STD_I64LE, {3});
    }
    const Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
    std::filesystem::remove(dir / "a.h5");
    {
      ForeignFile file(dir / "a.h5");
      file.flat("image", "01234567");
      file.offsets("image_offset", at, H5T_STD_I64LE);
      file.count("label", H5T_STD_I64LE, {3});
    }
    CHECK(error_of([&] { (void)read_foreign(dir / "a.h5"); }).code() == Code::damaged);
    const ForeignRows all = test::scan_foreign(dir / "a.h5", survey);
    CHECK(all.rows.size() == 3);
    REQUIRE(!all.findings.empty());
    CHECK(all.findings[0].message.find("do not ascend") != std::string::npos);
    CHECK(all.findings[0].row.has_value());
  }
}

TEST_CASE("hdf5 hostile: text that is not UTF-8 any more is a finding") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").strings("caption", {"hello", "world"});
  const Survey survey = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
  std::string bytes = test::read_text(dir / "a.h5");
  bytes[bytes.find("world")] = '\xff';
  test::write_file(dir / "a.h5", bytes);
  const ForeignRows all = test::scan_foreign(dir / "a.h5", survey);
  REQUIRE(all.findings.size() == 1);
  CHECK(all.findings[0].message == "a string that is not UTF-8");
  CHECK(all.findings[0].row == 1);
}

}  // namespace
}  // namespace shale
