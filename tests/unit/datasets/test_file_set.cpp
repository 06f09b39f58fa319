#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/datasets/file_set.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

// A file that its content tells, whatever its name.
void add(const TempDir& dir, const std::string& name, std::size_t rows = 3) {
  write_file(dir / name, grid_bytes(columns_of(rows), rows));
}

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (const SetMember& file : files_of_set(path).value_or(std::vector<SetMember>()))
    names.push_back(file.path.substr(file.path.rfind('/') + 1));
  return names;
}

using Names = std::vector<std::string>;

TEST_CASE("file set: a folder of one format, in natural order, text and hidden files aside") {
  const TempDir dir;
  for (const std::string name : {"part-10.grid", "part-9.grid", "part-1.grid"}) add(dir, name);
  for (const std::string name : {".hidden", "README.md", "part-9.grid.dataset.json", "lock.mdb"})
    write_file(dir / name, "some text");
  CHECK(names_of(dir.path()) == Names{"part-1.grid", "part-9.grid", "part-10.grid"});
}

TEST_CASE("file set: a folder with anything else is none") {
  for (const std::string other :
       {"picture.bin", "sub/a.txt", "shard-000000.index.npy", "dataset.json"}) {
    const TempDir dir;
    CAPTURE(other);
    add(dir, "part-1.grid");
    write_file(dir / other, std::string("\0\xff", 2));
    CHECK_FALSE(files_of_set(dir.path()));
  }
}

TEST_CASE("file set: splits in one folder are refused with a pattern for one of them") {
  const TempDir dir;
  for (const std::string name : {"x-train-1.grid", "x-train-2.grid", "x-val-1.grid"})
    add(dir, name);
  const Error error = error_of([&] { (void)files_of_set(dir.path()); });
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message().find("x-train-*.grid (2), x-val-*.grid (1)") != std::string::npos);
  CHECK(names_of(dir / "x-train-*.grid") == Names{"x-train-1.grid", "x-train-2.grid"});
}

TEST_CASE("file set: the files of splits are told apart where all of them name one") {
  const TempDir dir;
  for (const std::string name : {"x-val.grid", "x-train-10.grid", "x-train-9.grid", "test.grid"})
    add(dir, name);
  std::string found;
  for (const SetOfSplit& split : files_of_splits(dir.path())) {
    found += split.split + ":";
    for (const SetMember& file : split.files) found += " " + file.name;
    found += "; ";
  }
  CHECK(found == "train: x-train-9.grid x-train-10.grid; test: test.grid; val: x-val.grid; ");
  add(dir, "extra.grid");
  CHECK(files_of_splits(dir.path()).empty());
}

TEST_CASE("file set: words that a shell sorted are noted where numbers are out of order") {
  CHECK(note_on_words({"a-1", "a-10", "a-2"}).starts_with("a-10 comes before a-2"));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"a-1", "a-2", "a-10"},
                                                {"a-2", "a-10", "a-1"},
                                                {"a-10", "b-2"},
                                                {}})
    CHECK(note_on_words(words).empty());
}

TEST_CASE("file set: names that are no split may differ, and 'constraint' is no 'train'") {
  const TempDir dir;
  for (const std::string name : {"alpha.grid", "constraint.grid", "latest.grid"}) add(dir, name);
  CHECK(names_of(dir.path()).size() == 3);
}

TEST_CASE("file set: wildcards match naturally, braces as they are written") {
  const TempDir dir;
  for (const std::string name : {"a-02.grid", "a-10.grid", "a-9.grid", "b-02.grid"}) add(dir, name);
  CHECK(names_of(dir / "a-*.grid") == Names{"a-02.grid", "a-9.grid", "a-10.grid"});
  CHECK(names_of(dir / "?-02.grid") == Names{"a-02.grid", "b-02.grid"});
  CHECK(names_of(dir / "{b,a}-02.grid") == Names{"b-02.grid", "a-02.grid"});
  CHECK(names_of(dir / "a-{9..10}.grid") == Names{"a-9.grid", "a-10.grid"});
}

TEST_CASE("file set: a name that braces spell out must exist") {
  const TempDir dir;
  add(dir, "a-00.grid");
  const Error error = error_of([&] { (void)files_of_set(dir / "a-{00..01}.grid"); });
  CHECK(error.code() == Code::not_found);
  CHECK(error.file() == dir / "a-01.grid");
  for (const std::string name : {"c-*", "a-{00.grid", "{}", "a-{1..0}.grid", "a-{x..y}.grid"}) {
    CAPTURE(name);
    CHECK_FALSE(files_of_set(dir / name));
  }
  CHECK(error_of([&] { (void)files_of_set(dir / "{0..99999999999}"); }).code() == Code::limit);
}

TEST_CASE("file set: a file whose name has brackets or braces is that file") {
  const TempDir dir;
  add(dir, "a[1]{x,y}.grid");
  CHECK_FALSE(files_of_set(dir / "a[1]{x,y}.grid"));
}

TEST_CASE("file set: a list with @ in front names files of any kind, in its order") {
  const TempDir dir;
  for (const std::string name : {"a.grid", "b c.grid"}) add(dir, name);
  write_file(dir / "files.txt", "# two of them\r\n\r\n  b c.grid \r\na.grid\nb c.grid");
  const std::string word = "@" + dir.path() + "/files.txt";
  CHECK(names_of(word) == Names{"b c.grid", "a.grid", "b c.grid"});
  fs::create_directory(dir / "sub");
  write_file(dir / "files.txt", "a.grid\nsub\n");
  CHECK(error_of([&] { (void)files_of_set(word); }).message() ==
        "file 2 of the list, 'sub', is a folder");
  write_file(dir / "files.txt", "\n# none\n");
  CHECK(error_of([&] { (void)files_of_set(word); }).message() == "lists no file");
  CHECK(error_of([&] { (void)files_of_set("@" + dir.path() + "/x"); }).code() == Code::not_found);
}

TEST_CASE("file set: several paths are one word, whatever their folders are called") {
  const TempDir dir;
  fs::create_directory(dir / "sub");
  for (const std::string name : {"sub/a.grid", "b[1].grid"}) add(dir, name);
  const Names paths = {dir.path() + "/sub/../b[1].grid", dir.path() + "/sub/a.grid"};
  CHECK(names_of(word_of_files(paths)) == Names{"b[1].grid", "a.grid"});
  CHECK(word_of_files({"a{1}.grid"}) == "a{1}.grid");
  for (const std::string name : {"a,b", "a{b", "a}b"}) {
    CAPTURE(name);
    CHECK(error_of([&] { (void)word_of_files({"x", name}); }).code() == Code::usage);
  }
}

}  // namespace
}  // namespace shale
