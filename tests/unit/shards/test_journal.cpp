#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/shards/journal.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

std::string written_journal(const TempDir& dir, const std::vector<std::string>& lines) {
  Journal journal = Journal::create(dir / "journal", "to=toy\tseed=7");
  for (const std::string& line : lines) journal.add(line);
  return content_of(dir.path()).at("journal");
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  (void)read_journal(path, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("journal: head and lines are read as they were written") {
  const TempDir dir;
  (void)written_journal(dir, {"one\tmore", "", std::string(600'000, 'x')});
  const JournalSummary summary = read_journal(dir / "journal");
  CHECK(summary.head == "to=toy\tseed=7");
  CHECK(summary.lines == 3);
  CHECK(lines_of(dir / "journal") == Lines{"one\tmore", "", std::string(600'000, 'x')});
  CHECK(read_journal(dir / "nothing").head.empty());
}

TEST_CASE("journal: a torn last line is left out, and the next one takes its place") {
  const TempDir dir;
  const std::string whole = written_journal(dir, {"one", "two"});
  const std::size_t begin = whole.rfind("two");
  for (std::size_t end = begin; end < whole.size(); ++end) {
    CAPTURE(end);
    write_file(dir / "journal", whole.substr(0, end));
    const JournalSummary left = read_journal(dir / "journal");
    CHECK(left.lines == 1);
    Journal journal = Journal::reopen(dir / "journal", left);
    journal.add("three");
    CHECK(journal.lines() == 2);
    CHECK(lines_of(dir / "journal") == Lines{"one", "three"});
  }
}

TEST_CASE("journal: one without a whole first line has not begun") {
  const TempDir dir;
  const std::string whole = written_journal(dir, {});
  for (std::size_t end = 0; end < whole.size(); ++end) {
    write_file(dir / "journal", whole.substr(0, end));
    CHECK(read_journal(dir / "journal").head.empty());
  }
}

TEST_CASE("journal: any change before the last line shows, and any in it makes it torn") {
  const TempDir dir;
  const std::string whole = written_journal(dir, {"one", "two"});
  const std::size_t last = whole.rfind("two");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    write_file(dir / "journal", flipped);
    if (at + 1 >= last) {
      // Without its end the line before is one with the last.
      CHECK(lines_of(dir / "journal") == (at >= last ? Lines{"one"} : Lines{}));
      continue;
    }
    const Error error = error_of([&] { (void)read_journal(dir / "journal"); });
    // In the mark of the first line it is that of another version.
    CHECK((error.code() == Code::damaged || error.code() == Code::exists));
    CHECK(error.file() == dir / "journal");
    CHECK(error.hint().find("--overwrite") != std::string::npos);
  }
}

TEST_CASE("journal: a line that is missing, doubled or out of place shows") {
  const TempDir dir;
  const std::string whole = written_journal(dir, {"one", "two", "three"});
  const std::size_t one = whole.find("one"), two = whole.find("two"), three = whole.find("three");
  const std::string head = whole.substr(0, one), first = whole.substr(one, two - one),
                    second = whole.substr(two, three - two), third = whole.substr(three);
  for (const std::string& bad :
       {head + second + third, head + first + first + second, head + second + first + third}) {
    write_file(dir / "journal", bad);
    CHECK(error_of([&] { (void)read_journal(dir / "journal"); }).code() == Code::damaged);
  }
}

TEST_CASE("journal: that of shale 0.2.0 is of another version") {
  const TempDir dir;
  write_file(dir / "journal", "to=record\tshard_size=100\n{\"name\": \"shard-000000\"}\n");
  const Error error = error_of([&] { (void)read_journal(dir / "journal"); });
  CHECK(error.code() == Code::exists);
  CHECK(std::string(error.what()).find("another version of shale") != std::string::npos);
}

}  // namespace
}  // namespace shale
