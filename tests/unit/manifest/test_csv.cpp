#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/manifest/csv.hpp"

#include "tests/support/sampled_walk.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::string& content, bool may_use_blanks = false) {
  const TempDir dir;
  write_file(dir / "list.csv", content);
  Rows rows;
  read_csv(dir / "list.csv",
           [&](std::uint64_t row, CsvRow fields) {
             CHECK(row == rows.size() + 1);
             rows.emplace_back(fields.begin(), fields.end());
           },
           {.may_use_blanks = may_use_blanks});
  return rows;
}

// Its rows, one after the other, and the error behind them.
std::string read_by(unsigned threads, const std::string& path) {
  std::string read;
  const auto use = [&](std::uint64_t row, CsvRow fields) {
    read += std::to_string(row);
    for (const std::string_view field : fields) read.append("|").append(field);
    read += '\n';
    if (fields.back() == "stop") throw Error(Code::bad_content, "stopped at row {}", row);
  };
  try {
    read_csv(path, use, {.may_use_blanks = true, .threads = threads});
  } catch (const Error& error) {
    read += error.what();
  }
  return read;
}

std::string utf16_of(const std::string& ascii) {
  std::string text = "\xFF\xFE";
  for (const char byte : ascii) text += {byte, '\0'};
  return text;
}

TEST_CASE("csv: rows are split as RFC 4180 has it, and by tabs where the first line has no comma") {
  struct Case {
    std::string content;
    Rows rows;
  };
  const Case cases[] = {
      {"", {}},
      {"a,b\n1,2\n", {{"a", "b"}, {"1", "2"}}},
      {"a,b\r\n1,2", {{"a", "b"}, {"1", "2"}}},
      {"\"x,\"\"y\"\"\nz\",2\n", {{"x,\"y\"\nz", "2"}}},
      {"a\tb\n1,5\t2\n", {{"a", "b"}, {"1,5", "2"}}},
      {"a,b\n1\t5,2\n", {{"a", "b"}, {"1\t5", "2"}}},
      {"\xEF\xBB\xBF"
       "a,b\n",
       {{"a", "b"}}},
      {"k\xFF\xE9,1\n", {{"k\xFF\xE9", "1"}}},
      {"\n\r\n\na\r\n\nb\r\r", {{"a"}, {"b"}}},
      {",\n\"\",", {{"", ""}, {"", ""}}},
      {"\"\"\"\"", {{"\""}}},
      {" \v a \n", {{" \v a "}}},
      {std::string("a\0b\n", 4), {{std::string("a\0b", 3)}}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.content);
    CHECK(rows_of(one.content) == one.rows);
  }
}

TEST_CASE("csv: a quote that is never closed, a row above 1 MiB and half of UTF-16 are refused") {
  const std::string refused[] = {"a,b\n\"1,2\n",
                                 "a\"b\n",
                                 "\"a\" ,b\n",
                                 "\"a\"b",
                                 std::string(40'000, ','),
                                 std::string((1 << 20) + 1, 'x'),
                                 std::string("\xFF\xFE"
                                             "a\0,\0b",
                                             7),
                                 std::string("\xFF\xFE\x00\xDC", 4),
                                 std::string("\xFE\xFF\xD8\x00", 4)};
  for (const std::string& content : refused) {
    CHECK(error_of([&] { (void)rows_of(content); }).code() == Code::bad_content);
  }
}

TEST_CASE("csv: what divides fields is found by looking at the first lines") {
  struct Case {
    std::string content;
    Rows rows;
  };
  const Case cases[] = {
      {"a|b\n1|2\n", {{"a", "b"}, {"1", "2"}}},
      {"a.jpg,x|y\nb.jpg,z\n", {{"a.jpg", "x|y"}, {"b.jpg", "z"}}},
      {"a|b\n1\n", {{"a|b"}, {"1"}}},
      {"a.jpg 1\nb.jpg 2", {{"a.jpg", "1"}, {"b.jpg", "2"}}},
      {"a.jpg   1  3 \n b.jpg 2 4\r\n", {{"a.jpg", "1", "3"}, {"b.jpg", "2", "4"}}},
      {"my photo of 1\nanother one", {{"my photo of 1"}, {"another one"}}},
      {"\"a\" 1\n\"c\" 2\n", {{"a", "1"}, {"c", "2"}}},
      {"0,5|1\n2|3\n", {{"0,5", "1"}, {"2", "3"}}},
      {"a;0,5\nb;1\n", {{"a", "0,5"}, {"b", "1"}}},
      {"0,5|1\n2,5|3\n", {{"0,5", "1"}, {"2,5", "3"}}},
      {"a,b.jpg\tcat\nc.jpg\tdog\n", {{"a,b.jpg", "cat"}, {"c.jpg", "dog"}}},
      {"\"a,b.jpg\";\"cat\"\n\"c;d.jpg\";\"dog\"\n", {{"a,b.jpg", "cat"}, {"c;d.jpg", "dog"}}},
      {"a,b.jpg|x\nc.jpg|y\n", {{"a,b.jpg", "x"}, {"c.jpg", "y"}}},
      {"\"a,b;c\",1\nd;e,2\n", {{"a,b;c", "1"}, {"d;e", "2"}}},
      {"a;b.jpg,cat\nc;d.jpg,dog\n", {{"a;b.jpg", "cat"}, {"c;d.jpg", "dog"}}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.content);
    CHECK(rows_of(one.content, true) == one.rows);
  }
}

TEST_CASE("csv: UTF-16 of both orders is the same as UTF-8, wherever reads cut it") {
  const std::u16string text =
      u"n\u00e4me\t\u20ac\U0001F600\r\n" + std::u16string(300'001, u'x') + u"\t\"a\n\"\"b\"\n";
  const Rows rows = {{"n\xC3\xA4me", "\xE2\x82\xAC\xF0\x9F\x98\x80"},
                     {std::string(300'001, 'x'), "a\n\"b"}};
  std::string little = "\xFF\xFE", big = "\xFE\xFF";
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xffU), high = static_cast<char>(unit >> 8U);
    little += {low, high};
    big += {high, low};
  }
  CHECK(rows_of(little) == rows);
  CHECK(rows_of(big) == rows);
}

TEST_CASE("csv: nothing depends on where the file is cut into reads") {
  // Reads are of 256 KiB: each cut is inside of another part of `marks`.
  const std::string marks = "\"q\"\"\r\n\",\r\n\"";
  for (std::size_t i = 0; i <= marks.size(); ++i) {
    const std::string before(256 * 1024 - i, 'x');
    CHECK(rows_of(before + "," + marks + "end\"") == Rows{{before, "q\"\r\n", ""}, {"end"}});
  }
}

TEST_CASE(
    "csv: however many threads parse it, rows, their numbers and the first error are the same") {
  const std::string marks = "\"q\"\"\r\n,\n\"";
  std::string many, quoted, blanks, words;
  constexpr int kRows = kIsInstrumented ? 15'000 : 40'000;
  for (int i = 0; i < kRows; ++i) {
    const std::string number = std::to_string(i);
    many += "folder/file " + number + ".jpg," + number + (i % 7 == 0 ? "\r\n" : "\n");
    quoted += (i % 3 == 0 ? marks : number) + "," + marks + "\r\n";
    blanks += (i % 2 == 0 ? "\n\r\n\r" : "") + number + ",,\"\"\n";
    words += "  a" + number + "   7 \n";
  }
  const std::string around = "n," + std::string(250'000, 'x') + "\n";
  const std::string cases[] = {
      many,
      "\xEF\xBB\xBF" + many,
      utf16_of(many + quoted),
      utf16_of(many).substr(0, 999'999),
      quoted,
      blanks,
      words,
      many + "no,stop\n" + many + "\"bad\" quote,1\n",
      many + "in the mid\"dle,1\n" + quoted + "no,stop\n",
      quoted + "\"closed\"badly,\"1\"\n" + quoted,
      quoted + "\"never closed," + many + many + many + many,
      many + "1,\"" + std::string(2'000'000, '"') + "\"\n" + many,
      many + "large,\"" + std::string(900'000, '\n') + "\"\n" + many,
      many + "large," + std::string(1'100'000, 'x') + "\n" + many,
      many + std::string(5'000'000, '\n') + many + "last,\"row\"",
      around + around + around + "\n" + around + around,
      words + std::string(6'000'000, ' ') + "b 8",
  };
  const TempDir dir;
  for (const std::string& content : cases) {
    CAPTURE(content.substr(0, 40));
    write_file(dir / "list.csv", content);
    const std::string by_one = read_by(1, dir / "list.csv");
    if (!kIsInstrumented) CHECK((read_by(2, dir / "list.csv") == by_one));
    CHECK((read_by(4, dir / "list.csv") == by_one));
  }
}

TEST_CASE("csv: an error names the row, counted without empty lines") {
  const Error error = error_of([] { (void)rows_of("a,b\n\n1,2\n3,\"x\"y\n"); });
  CHECK(std::string(error.what()).find("row 3 is not valid CSV") != std::string::npos);
}

TEST_CASE("csv list: a list without a row leaves no file") {
  const TempDir dir;
  CsvList list(dir.path(), "skipped.csv", {"key", "reason"});
  CHECK_FALSE(list.finish());
  CHECK(files_in(dir.path()).empty());
}

TEST_CASE("csv list: whatever the fields hold comes back when the list is read") {
  const TempDir dir;
  const Rows rows = {{"key", "reason"},
                     {"a,b", "say \"no\""},
                     {"line\nend", "cr\rhere"},
                     {"\xFF\xFE", ""},
                     {"=1+1", " x "}};
  CsvList list(dir.path(), "list.csv", rows[0]);
  for (std::size_t i = 1; i < rows.size(); ++i) list.add(rows[i]);
  const std::optional<ManifestFile> file = list.finish();
  REQUIRE(file);
  CHECK(file->bytes == read_text(dir / "list.csv").size());
  CHECK(rows_of(read_text(dir / "list.csv")) == rows);
}

TEST_CASE("csv list: a later run goes on with as much of the list as was durable") {
  const TempDir dir;
  std::uint64_t durable = 0;
  {
    CsvList list(dir.path(), "list.csv", {"key"});
    CHECK(list.sync().bytes == 0);
    list.add({"one"});
    durable = list.sync().bytes;
    CHECK(durable == list.sync().bytes);
    list.add({"lost"});
    (void)list.sync().bytes;
  }
  CsvList whole(dir.path(), "whole.csv", {"key"});
  for (const char* key : {"one", "two"}) whole.add({key});
  const std::optional<ManifestFile> expected = whole.finish();

  CsvList list(dir.path(), "list.csv", {"key"});
  list.resume(durable);
  CHECK(list.sync().bytes == durable);
  list.add({"two"});
  const std::optional<ManifestFile> file = list.finish();
  REQUIRE(file);
  CHECK(file->hash == expected->hash);
  CHECK(read_text(dir / "list.csv") == "key\none\ntwo\n");
}

TEST_CASE("csv list: one that was not durable is not there when a later run goes on") {
  const TempDir dir;
  write_file(dir / "list.csv", "key\nlost\n");
  CsvList list(dir.path(), "list.csv", {"key"});
  list.resume(0);
  CHECK_FALSE(list.finish());
  CHECK(files_in(dir.path()).empty());
}

}  // namespace
}  // namespace shale
