#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/report/html_text.hpp"

using namespace shale;
using namespace std::string_literals;

TEST_CASE("html_words: markup, control characters and bytes that are not text are shown") {
  struct Row {
    std::string bytes, shown;
  };
  const Row rows[] = {
      {"", ""},
      {"cat/7.jpg", "cat/7.jpg"},
      {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
      {"\" onload='x' &amp;", "&quot; onload=&#39;x&#39; &amp;amp;"},
      {"a\nb\tc\rd\x1b[0m\x7f\x01", "a\\nb\\tc\\x0dd\\x1b[0m\\x7f\\x01"},
      {"a\0b"s, "a\\x00b"},
      {"back\\slash", "back\\slash"},
      {"\xff<\xc3", "\\xff&lt;\\xc3"},
      {"\u05D0\u05D1", "\u05D0\u05D1"},                      // right to left: letters stay
      {"gpj.\u202Egol", "gpj.\\xe2\\x80\\xaegol"},           // what turns text around does not
      {"\u2067x\u2069", "\\xe2\\x81\\xa7x\\xe2\\x81\\xa9"},  // isolates neither
      {"\uFFFE|\uFFFF|\uFFFD", "\\xef\\xbf\\xbe|\\xef\\xbf\\xbf|\uFFFD"},
      {"\u0085", "\\xc2\\x85"}};
  for (const Row& row : rows) {
    CAPTURE(row.shown);
    CHECK(html_words(row.bytes) == row.shown);
  }
}

TEST_CASE("html_words: no byte, alone or among others, comes out as markup") {
  for (int first = 0; first < 256; ++first) {
    for (const std::string& rest : {""s, "<"s, "\xbf\""s, "\x80\x80&"s}) {
      const std::string shown = html_words(std::string(1, static_cast<char>(first)) + rest);
      CAPTURE(first);
      CHECK(shown.find_first_of("<>\"'") == std::string::npos);
      for (std::size_t at = shown.find('&'); at != std::string::npos;
           at = shown.find('&', at + 1)) {
        const std::string reference = shown.substr(at, shown.find(';', at) - at);
        const bool is_known = reference == "&amp" || reference == "&lt" || reference == "&gt" ||
                              reference == "&quot" || reference == "&#39";
        CHECK(is_known);
      }
    }
  }
}

TEST_CASE("html_words and html_lines: what shale wrote keeps its backslashes, code its lines") {
  CHECK(html_words("key 'a\\nb' <\n>") == "key &#39;a\\nb&#39; &lt;\\n&gt;");
  CHECK(html_lines("x = b\"\\xff\"\nif a < b:\n") == "x = b&quot;\\xff&quot;\nif a &lt; b:\n");
  CHECK(html_lines("a\x1b\u202E\n") == "a\\x1b\\xe2\\x80\\xae\n");
}

TEST_CASE("front_of_name: names are cut between characters") {
  CHECK(front_of_name("abc", 3) == "abc");
  CHECK(front_of_name("abcd", 3) == "abc");
  CHECK(front_of_name("\u00E4\u20AC\U0001F600x", 3) == "\u00E4\u20AC\U0001F600");
  CHECK(front_of_name("", 0) == "");
  CHECK(front_of_name("abc", 0) == "");
  // Stray continuation bytes are characters of their own, or a name of them would never be cut.
  CHECK(front_of_name(std::string(10, '\x80'), 4).size() == 4);
}

TEST_CASE("data_uri: base64 as in RFC 4648, section 10") {
  struct Row {
    std::string bytes, base64;
  };
  const Row rows[] = {{"", ""},
                      {"f", "Zg=="},
                      {"fo", "Zm8="},
                      {"foo", "Zm9v"},
                      {"foob", "Zm9vYg=="},
                      {"fooba", "Zm9vYmE="},
                      {"foobar", "Zm9vYmFy"},
                      {"\xff\xef\xbe\xfb", "/++++w=="}};
  for (const Row& row : rows) {
    std::vector<std::byte> bytes;
    bytes.reserve(row.bytes.size());
    for (const char byte : row.bytes) bytes.push_back(static_cast<std::byte>(byte));
    CHECK(data_uri("image/png", bytes) == "data:image/png;base64," + row.base64);
  }
}
