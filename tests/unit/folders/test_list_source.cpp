#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/folders/list_source.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// "line:path" or "line:path=label" of each.
std::vector<std::string> lines_of(const std::string& content) {
  const TempDir dir;
  write_file(dir / "list", content);
  std::vector<std::string> lines;
  read_listed_files(
      dir / "list", "stdin", [] {},
      [&](const ListedLine& line) {
        lines.push_back(std::to_string(line.number) + ":" + std::string(line.path) +
                        (line.label.empty() ? "" : "=" + std::string(line.label)));
      });
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("listed files: lines end in LF or CRLF, and the last needs no end") {
  CHECK(lines_of("a\nb\tcat\n").size() == 2);
  CHECK(lines_of("a\r\n\n ./b c\t cat \r\n././d") == Lines{"1:a", "3: ./b c=cat", "4:d"});
  CHECK(lines_of("\xEF\xBB\xBF"
                 "a\n") == Lines{"1:a"});
  CHECK(lines_of("a\tb\tc\n") == Lines{"1:a\tb=c"});
  CHECK(lines_of("").empty());
}

TEST_CASE("listed files: where one path ends in NUL, all do, and may have line ends") {
  const std::string text("a\nb\0c\td\0\0e", 10);
  CHECK(lines_of(text) == Lines{"1:a\nb", "2:c=d", "4:e"});
}

TEST_CASE("listed files: a line longer than a piece of the stream is one line") {
  const std::string path(200'000, 'p');
  CHECK(lines_of("a\n" + path + "\tcat\n" + path) ==
        Lines{"1:a", "2:" + path + "=cat", "3:" + path});
}

TEST_CASE("listed files: what is not a list is refused with its line") {
  struct Row {
    std::string content;
    std::string_view fact;
  };
  const Row rows[] = {
      {"a\n\tcat\n", "line 2 has no path"},
      {"a\t \n", "line 1 has a tab, but no label"},
      {"a\n" + std::string((1 << 20) + 1, 'b'), "line 2 has more than 1048576 bytes"},
      {std::string(1 << 21, '\n') + std::string("a\0b\n", 4), "has a NUL byte"},
      {std::string("\xFF\xFE"
                   "a\0\n\0",
                   6),
       "is UTF-16"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.fact);
    const Error error = error_of([&] { (void)lines_of(row.content); });
    CHECK(error.code() == Code::bad_content);
    CHECK(std::string_view(error.what()).find(row.fact) != std::string_view::npos);
  }
}

}  // namespace
}  // namespace shale
