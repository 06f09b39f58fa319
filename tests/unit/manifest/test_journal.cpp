#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/manifest/journal.hpp"

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

TEST_CASE("journal: of a page that a power failure lost, what stands before it is left") {
  const TempDir dir;
  Lines all;
  for (int i = 0; i < 40; ++i) all.push_back(std::to_string(i) + std::string(500, 'x'));
  const std::string whole = written_journal(dir, all);
  for (std::size_t page = 4096; page + 4096 < whole.size(); page += 4096) {
    CAPTURE(page);
    std::string torn = whole;
    torn.replace(page, 4096, 4096, '\0');
    write_file(dir / "journal", torn);
    const JournalSummary left = read_journal(dir / "journal");
    CHECK(left.lines == std::ranges::count(whole.substr(0, page), '\n') - 1);
    Journal::reopen(dir / "journal", left).add("next");
    Lines expected(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(left.lines));
    expected.emplace_back("next");
    CHECK(lines_of(dir / "journal") == expected);
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

// What is durable, and the tail.
Lines all_lines_of(const std::string& path) {
  Lines lines = lines_of(path);
  const JournalSummary summary = read_journal(path);
  lines.insert(lines.end(), summary.tail.begin(), summary.tail.end());
  return lines;
}

TEST_CASE("journal: a tail is read behind it, and becomes durable with the next line") {
  const TempDir dir;
  const std::string path = dir / "journal";
  Journal journal = Journal::create(path, "head");
  journal.add("one");
  journal.add_to_tail("two");
  journal.add_to_tail("three");
  CHECK(journal.lines() == 3);
  CHECK(lines_of(path) == Lines{"one"});
  CHECK(read_journal(path).tail == Lines{"two", "three"});
  journal.add("four");
  CHECK(journal.lines() == 4);
  CHECK(lines_of(path) == Lines{"one", "two", "three", "four"});
  CHECK(read_journal(path).tail.empty());
  journal.add_to_tail("five");
  CHECK(all_lines_of(path) == Lines{"one", "two", "three", "four", "five"});
}

TEST_CASE(
    "journal: whatever a kill leaves of a tail that was being kept, each line is there once") {
  const TempDir dir;
  const std::string path = dir / "journal";
  Journal journal = Journal::create(path, "head");
  journal.add("one");
  const std::size_t kept = content_of(dir.path()).at("journal").size();
  for (const char* line : {"two", "three", "four"}) journal.add_to_tail(line);
  const std::string tail = content_of(dir.path()).at("journal.tail");
  journal.keep_tail();
  const std::string whole = content_of(dir.path()).at("journal");
  for (std::size_t end = kept; end <= whole.size(); ++end) {
    CAPTURE(end);
    write_file(path, whole.substr(0, end));
    write_file(Journal::tail_path(path), tail);
    CHECK(all_lines_of(path) == Lines{"one", "two", "three", "four"});
    Journal again = Journal::reopen(path, read_journal(path));
    CHECK(again.lines() == 4);
    again.add("five");
    CHECK(lines_of(path) == Lines{"one", "two", "three", "four", "five"});
  }
}

TEST_CASE("journal: a tail that is dropped is not there, and another one follows") {
  const TempDir dir;
  const std::string path = dir / "journal";
  {
    Journal journal = Journal::create(path, "head");
    journal.add("one");
    for (const char* line : {"two", "three"}) journal.add_to_tail(line);
    journal.drop_tail();
    CHECK(journal.lines() == 1);
    CHECK(all_lines_of(path) == Lines{"one"});
    for (const char* line : {"2", "3"}) journal.add_to_tail(line);
    CHECK(all_lines_of(path) == Lines{"one", "2", "3"});
  }
  Journal again = Journal::reopen(path, read_journal(path));
  again.drop_tail();
  CHECK(again.lines() == 1);
  CHECK(all_lines_of(path) == Lines{"one"});
}

TEST_CASE("journal: of a damaged tail what stands before the damage is left") {
  const TempDir dir;
  const std::string path = dir / "journal";
  Journal journal = Journal::create(path, "head");
  for (const char* line : {"two", "three", "four"}) journal.add_to_tail(line);
  const std::string tail = content_of(dir.path()).at("journal.tail");
  const std::size_t first_end = tail.find('\n') + 1;
  for (std::size_t place = first_end; place < tail.size(); ++place) {
    CAPTURE(place);
    for (const char to : {'\0', '\n', 'x'}) {
      std::string changed = tail;
      if (changed[place] == to) continue;
      changed[place] = to;
      write_file(Journal::tail_path(path), changed);
      const Lines left = read_journal(path).tail;
      CHECK(left.size() < 3);
      REQUIRE(!left.empty());
      CHECK(left.front() == "two");
      CHECK(left.back() == (left.size() == 2 ? "three" : "two"));
    }
  }
  write_file(Journal::tail_path(path), tail.substr(first_end));  // its beginning is missing
  CHECK(read_journal(path).tail.empty());
}

}  // namespace
}  // namespace shale
