#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/formats/hdf5/foreign_files.hpp"

namespace shale {
namespace {

using test::ForeignFile;
using test::ForeignRows;
using test::read_foreign;
using test::rows_by_library;
using test::TempDir;
using Texts = std::vector<std::string>;

// A file of arrays as h5py writes them.
void write_arrays(const std::string& path, hsize_t user_block = 0) {
  ForeignFile file(path, user_block);
  file.count("x", H5T_STD_U16LE, {5, 2, 3});
  file.chunked({2}).count("y", H5T_STD_I32LE, {5});  // its chunks follow one another
  file.put("hollow", H5T_IEEE_F32LE, {5, 0}, H5T_NATIVE_FLOAT, nullptr);
}

TEST_CASE("hdf5 foreign: rows that follow one another need no index") {
  for (const hsize_t user_block : {0U, 512U}) {
    CAPTURE(user_block);
    const TempDir dir;
    write_arrays(dir / "a.h5", user_block);
    const ForeignRows all = read_foreign(dir / "a.h5");
    CHECK(all.findings.empty());
    CHECK(all.survey.layout.rows.has_strides());
    CHECK_FALSE(all.survey.layout.has_keys);
    CHECK(all.survey.samples == 5);
    CHECK(all.survey.bases.at(0) == 0);
    CHECK(all.of("x") == rows_by_library(dir / "a.h5", "x"));
    CHECK(all.of("y") == Texts{"0", "1", "2", "3", "4"});
    CHECK(all.of("hollow") == Texts(5));
  }
}

TEST_CASE("hdf5 foreign: one column that is not so, and all have an index") {
  constexpr void (*kMake[])(ForeignFile&) = {
      [](ForeignFile& file) { file.count("z", H5T_STD_I16BE, {5}); },
      [](ForeignFile& file) {
        file.strings("z", {"a", "b", "c", "d", "e"});
      },
      [](ForeignFile& file) {
        file.strings("key", {"a", "b", "c", "d", "e"});
      },
      [](ForeignFile& file) {
        file.put("z", H5T_STD_U8LE, {5, 2}, H5T_NATIVE_UINT8, nullptr);
      },
      [](ForeignFile& file) {
        file.flat("z", "abcdef");
        file.offsets("z_offset", {0, 1, 2, 3, 4, 6});
      },
  };
  for (const auto make : kMake) {
    const TempDir dir;
    {
      ForeignFile file(dir / "a.h5");
      file.count("x", H5T_STD_U16LE, {5, 2});
      make(file);
    }
    const ForeignRows all = read_foreign(dir / "a.h5");
    CHECK_FALSE(all.survey.layout.rows.has_strides());
    CHECK(all.rows.size() == 5);
    CHECK(all.of("x") == rows_by_library(dir / "a.h5", "x"));
  }
}

TEST_CASE("hdf5 foreign: rows that lie elsewhere than the manifest says are one finding") {
  const TempDir dir;
  write_arrays(dir / "a.h5");
  const Survey sound = survey_hdf5_file(InputFile(dir / "a.h5"), Dialect::plain);
  const auto findings_of = [&](auto change) {
    Survey survey = sound;
    change(survey);
    return test::scan_foreign(dir / "a.h5", survey).findings;
  };
  CHECK(findings_of([](Survey&) {}).empty());
  CHECK(findings_of([](Survey& survey) { --survey.samples; }).size() == 1);
  CHECK(findings_of([](Survey& survey) { survey.bases[1] += 2; }).size() == 1);
  CHECK(findings_of([](Survey& survey) { survey.bases.clear(); }).size() == 1);
}

}  // namespace
}  // namespace shale
