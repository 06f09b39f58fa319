#include <doctest/doctest.h>

#include "shale/arrays/array_file.hpp"
#include "shale/arrays/raw_numbers.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;
using test::write_file;

TEST_CASE("raw numbers: types are those of NumPy, and rows have sides") {
  struct Row {
    std::string_view text, descr;
    std::uint64_t row_bytes;
    bool is_swapped;
  };
  constexpr Row kRows[] = {{"uint16", "<u2", 2, false},    {"uint16,400", "<u2", 800, false},
                           {"<u2", "<u2", 2, false},       {"u2", "<u2", 2, false},
                           {">u2,2,3", "<u2", 12, true},   {">float32", "<f4", 4, true},
                           {"u1", "|u1", 1, false},        {">u1", "|u1", 1, false},
                           {"complex64", "<c8", 8, false}, {"S16", "|S16", 16, false}};
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const RawNumbers raw = parse_raw(row.text);
    CHECK(raw.type.dtype.descr() == row.descr);
    CHECK(raw.row_bytes() == row.row_bytes);
    CHECK(!raw.type.swaps.empty() == row.is_swapped);
  }
}

TEST_CASE("raw numbers: the words of a manifest are read again") {
  const RawNumbers raw = recorded_raw(parse_raw(">f4,2,3", 1'000).words);

  CHECK(raw.offset == 1'000);
  CHECK(raw.row == std::vector<std::uint64_t>{2, 3});
  CHECK(options_of(raw) == "--raw '>f4,2,3' --raw-offset 1000");
  CHECK_FALSE(recorded_raw("").is_given());
}

TEST_CASE("raw numbers: words that are no type, and rows without end, are refused") {
  for (const std::string_view text :
       {"", "uint15", "object", "uint16,", "uint16,0", "uint16,-1", "uint16,x", "uint16,400,",
        "float64,4611686018427387904", "float64,4294967296,4294967296"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)parse_raw(text); }).code() == Code::usage);
  }
}

TEST_CASE("raw numbers: a file that is no whole number of rows is damaged, and can be salvaged") {
  const TempDir dir;
  write_file(dir / "x.bin", "0123456789");
  const RawNumbers raw = parse_raw("u1,4");

  const Error error = error_of([&] { (void)open_arrays(dir / "x.bin", {.raw = raw}); });
  const ArrayFiles found = open_arrays(dir / "x.bin", {.takes_truncated = true, .raw = raw});

  CHECK(error.code() == Code::damaged);
  CHECK(error.offset() == 8);
  CHECK(found.arrays.at(0).shape == std::vector<std::uint64_t>{3, 4});
  CHECK(found.arrays.at(0).whole_rows == 2);
}

TEST_CASE("raw numbers: a file without a whole row has none, where what is truncated is taken") {
  const TempDir dir;
  write_file(dir / "x.bin", "012");
  const RawNumbers raw = parse_raw("u1,4");

  const Error error = error_of([&] { (void)open_arrays(dir / "x.bin", {.raw = raw}); });
  const ArrayFiles found = open_arrays(dir / "x.bin", {.takes_truncated = true, .raw = raw});

  CHECK(error.code() == Code::damaged);
  CHECK(found.arrays.at(0).shape == std::vector<std::uint64_t>{1, 4});
  CHECK(found.arrays.at(0).whole_rows == 0);
}

}  // namespace
}  // namespace shale
