#include <doctest/doctest.h>

#include "tests/formats/npy/npy_tools.hpp"

namespace shale {
namespace {

using namespace test;

const Schema kSchema{.fields = {{"x", Kind::tensor, DType::parse("<u2"), {2, 3}}},
                     .has_keys = false};

// What the scan of one file finds, as the only column of a shard of five rows.
std::vector<std::string> findings_in(const std::string& path, std::uint64_t rows = 5,
                                     std::uint64_t base = 128) {
  std::vector<InputFile> files;
  files.emplace_back(path);
  const ShardLayout layout = npy_format.layout(kSchema, {});
  std::vector<std::string> found;
  npy_format.scan(
      {files, kSchema, layout, false, rows, {&base, 1}}, {},
      [](const IndexRow&) { FAIL("rows are fixed: none is given"); },
      [&](const Finding& finding) { found.push_back(describe(finding)); });
  return found;
}

TEST_CASE("npy scan: each refused golden file is named by what is wrong with it") {
  struct Row {
    std::string_view name, words;
  };
  constexpr Row kRows[] = {
      {"cut-in-rows",
       "byte 187: field 'x': file ends before its last row: found 59 bytes of rows, "
       "expected 60"},
      {"cut-in-header",
       "byte 100: field 'x': file ends inside its npy header: found 100 bytes, "
       "expected at least 128"},
      {"a-byte-more",
       "byte 188: field 'x': bytes follow the last row: found 61 bytes of rows, "
       "expected 60"},
      {"fortran-order",
       "byte 44: field 'x': byte of the npy header is wrong: found 0x54, expected "
       "0x46"},
      {"big-endian",
       "byte 21: field 'x': byte of the npy header is wrong: found 0x3e, expected 0x3c"},
      {"a-row-more",
       "byte 61: field 'x': byte of the npy header is wrong: found 0x36, expected 0x35"},
      {"another-dtype",
       "byte 22: field 'x': byte of the npy header is wrong: found 0x69, expected "
       "0x75"},
      {"version-9",
       "byte 6: field 'x': byte of the npy header is wrong: found 0x09, expected 0x01"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const std::string name = fmt::format("{}.npy", row.name);
    const std::vector<std::string> found = findings_in(golden_npy("refused/" + name));
    REQUIRE(found.size() == 1);
    CHECK(found[0] == fmt::format("{}: {}", name, row.words));
  }
}

TEST_CASE("npy scan: a manifest that places the rows elsewhere, or counts others, is found") {
  const std::string sound = golden_npy("reference/numpy-2.4.6.npy");
  CHECK(findings_in(sound).empty());
  CHECK(findings_in(sound, 5, 64) ==
        std::vector<std::string>{"numpy-2.4.6.npy: byte 0: field 'x': rows are not where the "
                                 "manifest says: found byte 128, expected byte 64"});
  CHECK(findings_in(sound, 4).size() == 1);
}

}  // namespace
}  // namespace shale
