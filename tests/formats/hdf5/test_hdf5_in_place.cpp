#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/trees/hdf5_samples.hpp"

#include "tests/formats/hdf5/foreign_files.hpp"
#include "tests/support/sampled_walk.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::size_t kGroups = 40, kImageBytes = 12;

// Groups in the order of their names as bytes, which is not the natural one: s0, s1, s10, s11 ...
std::string file_of_groups(const TempDir& dir, bool is_old = true) {
  {
    ForeignFile file(dir / "a.h5", 0, is_old);
    for (std::size_t i = 0; i < kGroups; ++i) {
      const std::string name = "s" + std::to_string(i);
      H5Gclose(H5Gcreate2(file.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      std::array<std::uint8_t, kImageBytes> image{};
      std::iota(image.begin(), image.end(), static_cast<std::uint8_t>(i));
      file.put(name + "/image", H5T_STD_U8LE, {3, 4}, H5T_NATIVE_UINT8, image.data());
      const auto label = static_cast<std::int32_t>(i);
      file.put(name + "/label", H5T_STD_I32LE, {}, H5T_NATIVE_INT32, &label);
    }
  }
  return read_text(dir / "a.h5");
}

std::vector<IndexRow> rows_in(const InputFile& file, const Survey& survey, bool reads_payload) {
  std::vector<IndexRow> rows;
  std::vector<InputFile> files;
  files.emplace_back(file.path());
  scan_foreign_hdf5(
      {files, survey.schema, survey.layout, reads_payload},
      [&](const IndexRow& row) { rows.push_back(row); }, [](const Finding&) {});
  return rows;
}

TEST_CASE("hdf5 in place: rows lead to the values of each group, and keys to its name") {
  const TempDir dir;
  const std::string bytes = file_of_groups(dir);
  const InputFile file(dir / "a.h5");

  const Survey survey = survey_hdf5_file(file, {});
  const std::vector<IndexRow> rows = rows_in(file, survey, true);

  CHECK(survey.layout.dialect == Dialect::samples);
  REQUIRE(rows.size() == kGroups);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const FieldPlace& key = rows[i].key;
    const FieldPlace& image = rows[i].cells[0].place;
    CHECK(bytes.substr(key.offset, key.length) == "s" + std::to_string(i));
    CHECK(image.length == kImageBytes);
    CHECK(static_cast<std::uint8_t>(bytes[image.offset]) == i);
    CHECK(image.crc32c == crc32c(as_bytes(bytes).subspan(image.offset, image.length)));
    CHECK(rows[i].cells[1].integer == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("hdf5 in place: groups of a newer form are left to the library") {
  const TempDir dir;
  (void)file_of_groups(dir, false);
  const InputFile file(dir / "a.h5");

  const Error error = error_of([&] { (void)survey_hdf5_file(file, {}); });

  CHECK(error.code() == Code::unsupported);
  CHECK(error.message().find("a group per sample") != std::string::npos);
}

TEST_CASE("hdf5 in place: values outside of the file, or of more bytes than it, are refused") {
  const TempDir dir;
  const std::string sound = file_of_groups(dir);
  std::uint64_t address = 0;
  {
    const InputFile file(dir / "a.h5");
    address = rows_in(file, survey_hdf5_file(file, {}), false)[7].cells[0].place.offset;
  }
  // The layout message of the image of s7: version 3, contiguous, address, bytes.
  std::string layout("\3\1", 2);
  layout.append(reinterpret_cast<const char*>(&address), sizeof address);
  const std::size_t at = sound.find(layout);
  REQUIRE(at != std::string::npos);
  const auto refused = [&](std::size_t offset, std::uint64_t number) {
    std::string changed = sound;
    std::memcpy(changed.data() + at + offset, &number, sizeof number);
    write_file(dir / "a.h5", changed);
    const InputFile file(dir / "a.h5");
    CHECK_THROWS_AS((void)survey_hdf5_file(file, {}), Error);
  };
  for (const std::uint64_t number : {sound.size() - 3, sound.size(), ~std::uint64_t{0} - 5})
    refused(2, number);
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{11}, sound.size(), ~std::uint64_t{0} >> 1})
    refused(10, number);
}

TEST_CASE("hdf5 in place: bytes changed at random lead to nothing outside of the file") {
  constexpr unsigned kSeed = 41, kFiles = test::kIsInstrumented ? 40 : 200;
  std::mt19937 random(kSeed);
  const TempDir dir;
  const std::string sound = file_of_groups(dir);
  for (unsigned i = 0; i < kFiles; ++i) {
    CAPTURE(i);
    std::string changed = sound;
    for (int change = 0; change < 3; ++change)
      changed[random() % changed.size()] = static_cast<char>(random());
    write_file(dir / "a.h5", changed);
    const InputFile file(dir / "a.h5");
    try {
      const Survey survey = survey_hdf5_file(file, {});
      for (const IndexRow& row : rows_in(file, survey, true)) {
        for (const IndexCell& cell : row.cells) {
          const bool is_inside = cell.place.offset == kMissing ||
                                 (cell.place.offset <= changed.size() &&
                                  cell.place.length <= changed.size() - cell.place.offset);
          CHECK(is_inside);
        }
      }
    } catch (const Error& error) {
      CHECK(error.code() != Code::bug);
    }
  }
}

}  // namespace
}  // namespace shale
