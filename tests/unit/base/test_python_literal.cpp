#include <doctest/doctest.h>

#include "shale/base/python_literal.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

PythonScanner scanner(std::string_view text) {
  return {text, PythonScanner::Encoding::utf8, {.subject = "text", .file = "a", .base = 100}};
}

TEST_CASE("python literal: repr is Python's own") {
  struct Row {
    std::string_view text, repr;
  };
  // repr() of CPython 3.11.
  constexpr Row kRows[] = {
      {"", "''"},
      {"a b", "'a b'"},
      {"it's", "\"it's\""},
      {"'\"", "'\\'\"'"},
      {"\\\n\r\t\x01\x7f", "'\\\\\\n\\r\\t\\x01\\x7f'"},
      {"\xc2\x80\xc2\xa0\xc2\xa1\xc2\xad\xc3\xbf", "'\\x80\\xa0\xc2\xa1\\xad\xc3\xbf'"},
      {"\xe2\x80\x8b\xe2\x80\xaf\xe3\x80\x80\xe9\x9b\xaa", "'\\u200b\\u202f\\u3000\xe9\x9b\xaa'"},
      {"\xf0\x9f\x98\x80\xf3\xb0\x80\x80", "'\xf0\x9f\x98\x80\\U000f0000'"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.repr);
    CHECK(python_repr(row.text) == row.repr);
    CHECK(scanner(row.repr).read_string() == row.text);
  }
  CHECK(error_of([] { (void)python_repr("\xff"); }).code() == Code::bug);
}

TEST_CASE("python literal: words are read past white space") {
  PythonScanner from = scanner(" [ True,False , (3L, 4 ,) () u\"x\" ] ");
  from.expect('[');
  CHECK(from.read_bool());
  from.expect(',');
  CHECK_FALSE(from.read_bool());
  CHECK(from.accept(','));
  CHECK_FALSE(from.accept(','));
  CHECK(from.read_shape(2) == std::vector<std::uint64_t>{3, 4});
  CHECK(from.read_shape(2).empty());
  CHECK(from.read_string() == "x");
  CHECK(from.next_is(']'));
  CHECK_FALSE(from.at_end());
  from.expect(']');
  CHECK(from.at_end());
}

TEST_CASE("python literal: latin-1 text is given as UTF-8") {
  PythonScanner from("'\xe9'", PythonScanner::Encoding::latin1, {.subject = "text"});
  CHECK(from.read_string() == "\xc3\xa9");
}

TEST_CASE("python literal: strings that are none are damaged, with file and offset") {
  struct Row {
    std::string_view text, message;
    std::uint64_t offset;
  };
  constexpr Row kRows[] = {
      {"", "text has '' where a string is expected", 100},
      {" x", "text has 'x' where a string is expected", 101},
      {"'ab", "text ends inside a string", 103},
      {"'a\\", "text has an unknown escape '\\'", 103},
      {"'\\q'", "text has an unknown escape '\\q'", 102},
      {"'\\x4'", "text has an escape with too few digits", 104},
      {"'\\ud800'", "text has an escape U+D800, which is not a character", 107},
      {"'\\U00110000'", "text has an escape U+110000, which is not a character", 111},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const Error error = error_of([&] { (void)scanner(row.text).read_string(); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.message() == row.message);
    CHECK(error.file() == "a");
    CHECK(error.offset() == row.offset);
  }
}

TEST_CASE("python literal: shapes that are none are damaged") {
  for (const std::string_view text : {"", "3", "(3)", "(-3,)", "(3, 4", "(3 4)", "(,)", "(1, 2, 3)",
                                      "(9223372036854775808,)", "(99999999999999999999,)"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)scanner(text).read_shape(2); }).code() == Code::damaged);
  }
  CHECK(scanner("9223372036854775807").read_length() == 9223372036854775807ULL);
}

}  // namespace
}  // namespace shale
