#include <random>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/npy_header.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/wire/hex.hpp"

// Vectors: NumPy 2.4.6, CPython 3.11.7:
//   f = io.BytesIO(); numpy.lib._format_impl._write_array_header(f, {"descr": ..., "fortran_order":
//   ..., "shape": ...})
// The same was compared on 2026-11-20 for 18 dtypes (up to 2,000 columns) x 13 shapes (up to 64
// axes) x both orders: no difference.

namespace shale {
namespace {

using test::error_of;
using Columns = std::vector<std::pair<std::string, std::string>>;

// A version 1.0 header around a dictionary, without padding.
std::string around(std::string_view dict) {
  const auto length = static_cast<std::uint16_t>(dict.size());
  return "\x93NUMPY" + std::string("\x01\0", 2) + std::string(as_text(bytes_of(length))) +
         std::string(dict);
}

NpyHeader parse(std::string_view file) { return parse_npy_header(as_bytes(file), "a.npy"); }

TEST_CASE("npy header: is byte for byte what NumPy writes") {
  struct Row {
    NpyHeader header;
    std::string_view text;  // without the spaces at its end
    std::size_t size;
  };
  const Row rows[] = {
      {{.columns = {{"", "<f4"}}, .shape = {3}},
       "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
       128},
      {{.columns = {{"", "<f4"}}, .shape = {}},
       "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
       128},
      {{.columns = {{"", "|u1"}}, .shape = {1000, 224, 224, 3}},
       "{'descr': '|u1', 'fortran_order': False, 'shape': (1000, 224, 224, 3), }",
       128},
      {{.columns = {{"", "<f8"}}, .fortran_order = true, .shape = {0, 1000000}},
       "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 1000000), }",
       128},
      {{.columns = {{"image.offset", "<u8"}, {"image.length", "<u8"}, {"label", "<i8"}},
        .shape = {1000000}},
       "{'descr': [('image.offset', '<u8'), ('image.length', '<u8'), ('label', '<i8')], "
       "'fortran_order': False, "
       "'shape': (1000000,), }",
       192},
      {{.columns =
            {{"it's", "<i4"}, {"say \"x\"", "<i4"}, {"b\\s", "<f4"}, {"both ' and \"", "|u1"}},
        .shape = {1}},
       "{'descr': [(\"it's\", '<i4'), ('say \"x\"', '<i4'), ('b\\\\s', '<f4'), ('both \\' and \"', "
       "'|u1')], "
       "'fortran_order': False, 'shape': (1,), }",
       192},
      {{.columns = {{"\xc3\xa9", "<i4"}}, .shape = {1}},  // U+00E9 fits latin-1
       "{'descr': [('\xe9', '<i4')], 'fortran_order': False, 'shape': (1,), }",
       128},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    std::string expected =
        around(std::string(row.text) + std::string(row.size - 11 - row.text.size(), ' ') + "\n");
    CHECK(std::string(as_text(npy_header_bytes(row.header))) == expected);
  }
}

TEST_CASE("npy header: a column name beyond latin-1 makes it version 3.0 in UTF-8") {
  const NpyHeader header{.columns = {{"\xe9\x9b\xaa", "<u8"}}, .shape = {1}};

  const auto bytes = npy_header_bytes(header);

  CHECK(test::hex(Bytes(bytes).first(12)) ==
        "934e554d505903007400"
        "0000");
  CHECK(as_text(bytes).substr(12).starts_with(
      "{'descr': [('\xe9\x9b\xaa', '<u8')], 'fortran_order': False, "));
  CHECK(parse(as_text(bytes)).columns == header.columns);
}

TEST_CASE("npy header: any number of rows takes the same space") {
  const auto size = [](std::uint64_t rows) {
    return npy_header_bytes({.columns = {{"a", "|u1"}, {"b", "<u4"}}, .shape = {rows}}).size();
  };
  for (std::uint64_t rows = 1; rows < std::uint64_t{1} << 60; rows *= 10)
    CHECK(size(rows) == size(0));
}

TEST_CASE("npy header: what was written is parsed back") {
  for (const Columns& columns :
       {Columns{{"", "<M8[ns]"}}, Columns{{"a", "<i8"}, {"\xc3\xa9 '\"\\\n", "|S5"}}}) {
    for (const std::vector<std::uint64_t>& shape :
         {std::vector<std::uint64_t>{}, {0}, {7}, {3, 0, 5}}) {
      const auto bytes =
          npy_header_bytes({.columns = columns, .fortran_order = true, .shape = shape});
      const NpyHeader header = parse(as_text(bytes));
      CHECK(header.columns == columns);
      CHECK(header.shape == shape);
      CHECK(header.fortran_order);
      CHECK(header.data_offset == bytes.size());
    }
  }
}

TEST_CASE("npy header: the bytes of a row are those of its columns") {
  CHECK(NpyHeader{.columns = {{"", "<U3"}}, .shape = {}}.item_bytes() == 12);
  CHECK(NpyHeader{.columns = {{"a", "<i8"}, {"b", "|S5"}}, .shape = {}}.item_bytes() == 13);
}

TEST_CASE("npy header: other spellings of the dictionary are read") {
  for (const std::string_view dict : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
           "{'shape': (3L,), 'descr': '<f4', 'fortran_order': False}",
           "  {\"fortran_order\":False,\"shape\":(3,),\"descr\":\"<f4\"}\n\n",
           "{ 'descr' : u'<f4' , 'fortran_order' : False , 'shape' : ( 3 , ) , }",
           "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (3,)}",
       }) {
    CAPTURE(dict);
    const NpyHeader header = parse(around(dict));
    CHECK(header.columns == Columns{{"", "<f4"}});
    CHECK(header.shape == std::vector<std::uint64_t>{3});
  }
}

TEST_CASE("npy header: versions 2.0 and 3.0 are read") {
  const std::string_view dict =
      "{'descr': [('\xc3\xa9', '<f4')], 'fortran_order': False, 'shape': (3,), }";
  const std::string length(as_text(bytes_of(static_cast<std::uint32_t>(dict.size()))));

  const NpyHeader second =
      parse("\x93NUMPY" + std::string("\x02\0", 2) + length + std::string(dict));
  const NpyHeader third =
      parse("\x93NUMPY" + std::string("\x03\0", 2) + length + std::string(dict));

  CHECK(second.columns[0].first == "\xc3\x83\xc2\xa9");  // two latin-1 characters
  CHECK(third.columns[0].first == "\xc3\xa9");
}

TEST_CASE("npy header: dtypes that are no flat bytes are refused by name") {
  struct Row {
    std::string_view descr, fact;
  };
  constexpr Row kRows[] = {
      {"'|O'", "npy array of Python objects, which only pickle could read"},
      {"[('a', '<i4'), ('b', 'O')]",
       "npy column 'b' of Python objects, which only pickle could read"},
      {"[('a', [('x', '<i4')])]", "npy column 'a' of nested structures"},
      {"[('a', '<i4', (3,))]", "npy column 'a' of sub-arrays of a shape"},
      {"[('a', ('<i4', (3,)))]", "npy column 'a' of sub-arrays"},
      {"[(('title', 'a'), '<i4')]", "npy array of columns with titles"},
      {"('<i4', (3,))", "npy array of sub-arrays"},
      {"'>f4'", "dtype '>f4' is big-endian"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.descr);
    const std::string dict =
        "{'descr': " + std::string(row.descr) + ", 'fortran_order': False, 'shape': (3,), }";
    const Error error = error_of([&] { (void)parse(around(dict)); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message() == row.fact);
    CHECK(error.file() == "a.npy");
  }
}

TEST_CASE("npy header: what is no header is damaged") {
  for (const std::string_view dict : {
           "",
           "{}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} + 1",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
           "{'descr': '<f4",
           "{'descr': '\\q', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '\\x4",
           "{'descr': '\\",
           "{'descr': [], 'fortran_order': False, 'shape': (3,)}",
           "{'descr': [('a', '<i4'), ('a', '<i4')], 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
       }) {
    CAPTURE(dict);
    const Error error = error_of([&] { (void)parse(around(dict)); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == "a.npy");
  }
}

TEST_CASE("npy header: cut at any length, it is damaged") {
  const auto bytes = npy_header_bytes({.columns = {{"a", "<i8"}}, .shape = {3}});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    CHECK(error_of([&] { (void)parse(as_text(bytes).substr(0, length)); }).code() == Code::damaged);
  }
}

TEST_CASE("npy header: a text longer than 65,535 bytes is neither written nor read") {
  const NpyHeader wide{.columns = {{std::string(70'000, 'x'), "<i4"}}, .shape = {1}};

  CHECK(error_of([&] { (void)npy_header_bytes(wide); }).code() == Code::limit);
  CHECK(error_of([&] {
          (void)parse(std::string_view("\x93NUMPY\x02\0\xff\xff\xff\xff", 12));
        }).code() == Code::limit);
}

TEST_CASE("npy header: random changes are read or refused, never more") {
  const auto original =
      npy_header_bytes({.columns = {{"a'b", "<i8"}, {"b", "|S3"}}, .shape = {3, 4}});
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = original;
    for (int change = 0; change < 3; ++change)
      bytes[6 + random() % 90] = static_cast<std::byte>(random());
    try {
      const NpyHeader header = parse(as_text(bytes));
      CHECK(header.data_offset <= bytes.size());
    } catch (const Error& error) {
      CHECK(error.file() == "a.npy");
    }
  }
}

}  // namespace
}  // namespace shale
