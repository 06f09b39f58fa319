#include <doctest/doctest.h>

#include "tests/formats/npy/npy_tools.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::string_view kFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";

TEST_CASE("npy survey: NumPy's own file is a column of rows that lie behind its header") {
  const InputFile file(golden_npy("reference/numpy-2.4.6.npy"));

  const Survey survey = npy_format.survey(file, Dialect::plain, {});

  REQUIRE(survey.schema.fields.size() == 1);
  CHECK(survey.schema.fields[0] ==
        Field{.name = "x", .kind = Kind::tensor, .dtype = DType::parse("<u2"), .shape = {2, 3}});
  CHECK(!survey.schema.has_keys);
  CHECK(survey.layout.rows.has_strides());
  CHECK(!survey.layout.has_keys);
  CHECK(survey.layout.file_suffixes == std::vector<std::string>{""});
  CHECK(survey.samples == 5);
  CHECK(survey.bases == std::vector<std::uint64_t>{128});
}

TEST_CASE("npy survey: a row without axes is a number where one holds its dtype, else a tensor") {
  struct Row {
    std::string_view descr;
    Kind kind;
    std::string_view dtype;  // of the field
  };
  constexpr Row kRows[] = {{"|b1", Kind::integer, "|b1"}, {"<i8", Kind::integer, ""},
                           {"<u4", Kind::integer, "<u4"}, {"<u8", Kind::tensor, "<u8"},
                           {"<f4", Kind::real, "<f4"},    {"<f8", Kind::real, ""},
                           {"<f2", Kind::tensor, "<f2"},  {"<M8[ns]", Kind::tensor, "<M8[ns]"},
                           {"|S7", Kind::tensor, "|S7"}};
  for (const Row& row : kRows) {
    CAPTURE(row.descr);
    const std::string dict =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (2,), }}", row.descr);
    const std::uint64_t bytes = 2 * DType::parse(row.descr).item_bytes();
    const Field field = surveyed(npy_file(dict, std::string(bytes, '\1'))).schema.fields.at(0);
    CHECK(field.kind == row.kind);
    CHECK(field.dtype.descr() == row.dtype);
  }
}

TEST_CASE("npy survey: headers of versions 1, 2 and 3 are read, in any spelling of Python's") {
  for (const int version : {1, 2, 3})
    CHECK(surveyed(npy_file(kFloats, std::string(24, 'x'), version)).samples == 3);
  const std::string other = "{\"shape\":(3L,2L,),\"fortran_order\":False,'descr':u'<f4'}";
  CHECK(surveyed(npy_file(other, std::string(24, 'x'))).samples == 3);
}

TEST_CASE(
    "npy survey: what lies otherwise than row by row is refused by name, with what reads it") {
  struct Row {
    std::string_view dict, words, hint;
  };
  constexpr Row kRows[] = {
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", "Fortran order",
       "'shale convert' reads it"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 2), }", "big-endian", ""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "no axis", "reshape"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "bjects", ""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 0), }",
       "1000000000 rows of zero bytes", "no samples"}};
  for (const Row& row : kRows) {
    CAPTURE(row.dict);
    const Error error = refusal_of(npy_file(row.dict, std::string(24, 'x')));
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().find(row.words) != std::string::npos);
    CHECK(error.hint().find(row.hint) != std::string::npos);
    CHECK(error.file().ends_with("/a.npy"));
  }
}

TEST_CASE("npy survey: rows of no bytes are rows, up to a number that can be gone through") {
  const std::string_view dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 0), }";
  CHECK(surveyed(npy_file(dict, "")).samples == 1000);
}

TEST_CASE("npy survey: one axis in Fortran order is the same as in C order") {
  const std::string_view dict = "{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }";
  CHECK(surveyed(npy_file(dict, std::string(24, 'x'))).samples == 6);
}

TEST_CASE(
    "npy survey: a file that is shorter than its array is damaged, one that goes on is refused") {
  const Error cut = refusal_of(npy_file(kFloats, std::string(23, 'x')));
  CHECK(cut.code() == Code::damaged);
  CHECK(cut.message() == "npy array of 3 rows has 23 bytes, expected 24");
  CHECK(cut.offset() == 128 + 23);
  const Error longer = refusal_of(npy_file(kFloats, std::string(25, 'x')));
  CHECK(longer.code() == Code::unsupported);
  CHECK(longer.offset() == 128 + 24);
}

TEST_CASE("npy survey: a file cut anywhere is damaged") {
  const std::string whole = npy_file(kFloats, std::string(24, 'x'));
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(refusal_of(whole.substr(0, bytes)).code() == Code::damaged);
  }
}

// The first finding of the scan of a file that was surveyed when it held `before`.
std::string scanned(const std::string& before, const std::string& now) {
  const TempDir dir;
  const Survey survey = surveyed(before);
  write_file(dir / "a.npy", now);
  std::vector<InputFile> files;
  files.emplace_back(dir / "a.npy");
  std::string found;
  npy_format.scan(
      {files, survey.schema, survey.layout, true, survey.samples, survey.bases}, {},
      [](const IndexRow&) { FAIL("rows are fixed: none is given"); },
      [&](const Finding& finding) { found = describe(finding); });
  return found;
}

TEST_CASE("npy scan: a file of another tool is proved by what its survey said") {
  const std::string sound = npy_file(kFloats, std::string(24, 'x'));
  CHECK(scanned(sound, sound) == "");
  CHECK(scanned(sound, sound.substr(0, 140)) ==
        "a.npy: byte 140: npy array of 3 rows has 12 bytes, expected 24");
  CHECK(scanned(sound, npy_file("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }",
                                std::string(24, 'x'))) ==
        "a.npy: byte 0: npy array is not the one that was indexed: found 3 rows, x int32 (2,) "
        "from byte 128, expected 3 rows, x float32 (2,) from byte 128");
  CHECK(scanned(sound, npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }",
                                std::string(24, 'x')))
            .find("Fortran") != std::string::npos);
}

}  // namespace
}  // namespace shale
