#include <string>

#include <doctest/doctest.h>

#include "shale/base/printable.hpp"

namespace shale {

using namespace std::string_literals;

TEST_CASE("utf-8: well-formed text is told from everything else") {
  struct Row {
    std::string bytes;
    bool is_valid;
  };
  // The borders of Unicode 15, table 3-7.
  const Row rows[] = {{"", true},
                      {"plain ascii, longer than eight bytes", true},
                      {"\0"s, true},
                      {"\x7f", true},
                      {"\x80", false},
                      {"\xc1\xbf", false},
                      {"\xc2\x80", true},
                      {"\xc2", false},
                      {"\xdf\xbf", true},
                      {"\xdf\x7f", false},
                      {"\xe0\x9f\xbf", false},
                      {"\xe0\xa0\x80", true},
                      {"\xed\x9f\xbf", true},
                      {"\xed\xa0\x80", false},
                      {"\xef\xbf\xbf", true},
                      {"\xe2\x82", false},
                      {"\xf0\x8f\xbf\xbf", false},
                      {"\xf0\x90\x80\x80", true},
                      {"\xf4\x8f\xbf\xbf", true},
                      {"\xf4\x90\x80\x80", false},
                      {"\xf0\x90\x80", false},
                      {"\xff", false}};
  for (const Row& row : rows) {
    CAPTURE(printable(row.bytes));
    CHECK(is_utf8(row.bytes) == row.is_valid);
  }
}

TEST_CASE("utf-8: a bad byte is found at every place of a long text") {
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t bad = 0; bad < size; ++bad) {
      std::string text(size, 'a');
      text[bad] = '\xff';
      CAPTURE(size);
      CAPTURE(bad);
      CHECK_FALSE(is_utf8(text));
    }
  }
}

TEST_CASE("utf-8: a character across the border of eight bytes is whole") {
  for (std::size_t before = 0; before < 20; ++before) {
    CHECK(is_utf8(std::string(before, 'a') + "\xf0\x9f\x98\x80" + std::string(9, 'b')));
  }
}

TEST_CASE("printable: what a person may see stays, the rest is escaped") {
  struct Row {
    std::string bytes, shown;
  };
  const Row rows[] = {{"caf\u00e9 \u65e5\u672c", "caf\u00e9 \u65e5\u672c"},
                      {"a\nb\tc\\d", "a\\nb\\tc\\\\d"},
                      {"\x1b[31m", "\\x1b[31m"},
                      {"\r\x7f\0"s, "\\x0d\\x7f\\x00"},
                      {"\xc2\x9b"s + "2J", "\\xc2\\x9b2J"},
                      {"\xc2\xa0", "\xc2\xa0"},
                      {"a\u202Egnp.exe", "a\\xe2\\x80\\xaegnp.exe"},
                      {"\u2066\u2028\u061C", "\\xe2\\x81\\xa6\\xe2\\x80\\xa8\\xd8\\x9c"},
                      {"\u2029\u202F\u2065\u206A", "\\xe2\\x80\\xa9\u202F\u2065\u206A"},
                      {"\xff\xfe", "\\xff\\xfe"},
                      {"\xe2\x82", "\\xe2\\x82"}};
  for (const Row& row : rows) {
    CAPTURE(row.shown);
    CHECK(printable(row.bytes) == row.shown);
    CHECK(unescaped(row.shown) == row.bytes);
  }
}

TEST_CASE("unescaped: a backslash with something else behind it is no escape") {
  for (const std::string text : {"a\\", "\\", "\\q", "\\x", "\\x1", "\\x1g", "\\x+1", "\\N"})
    CHECK(unescaped(text) == std::nullopt);
  CHECK(unescaped("plain") == "plain");
  CHECK(unescaped("\\xC3\\xa9") == "\u00e9");
}

}  // namespace shale
