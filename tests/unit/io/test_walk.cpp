#include <map>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "shale/io/walk.hpp"

#include "child_process.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;
namespace fs = std::filesystem;

namespace {

struct Walked {
  std::map<std::string, std::uint64_t> bytes;  // by path
  WalkCounts counts;
};

Walked walk(const std::string& root, const WalkOptions& options = {}) {
  Walked walked;
  walked.counts = walk_folder(root, options, [&](const WalkedFile& file) {
    const std::string folder(file.directory);
    const bool is_new =
        walked.bytes
            .emplace((folder.empty() ? "" : folder + "/") + std::string(file.name), file.bytes)
            .second;
    CHECK(is_new);
  });
  return walked;
}

std::string folder_at_depth(const std::string& root, int depth) {
  std::string path = root;
  for (int level = 0; level < depth; ++level) path += "/d";
  return path;
}

}  // namespace

TEST_CASE("walk: every file is met once, with its folder and size") {
  TempDir dir;
  write_file(dir / "top", "1");
  write_file(dir / "a/x", "22");
  write_file(dir / "a/b/y", "");
  write_file(dir / "c/x", "333");
  const Walked walked = walk(dir.path());

  CHECK(walked.bytes ==
        std::map<std::string, std::uint64_t>{{"top", 1}, {"a/x", 2}, {"a/b/y", 0}, {"c/x", 3}});
  CHECK(walked.counts.files == 4);
  CHECK(walked.counts.directories == 3);
  CHECK(walk(dir.path() + "/").bytes == walked.bytes);
}

TEST_CASE("walk: hidden files and folders are passed over and counted, or kept when asked for") {
  TempDir dir;
  write_file(dir / ".file", "1");
  write_file(dir / ".folder/x", "1");
  write_file(dir / "a/.DS_Store", "1");

  CHECK(walk(dir.path()).bytes.empty());
  CHECK(walk(dir.path()).counts.hidden == 3);
  CHECK(walk(dir.path(), {.keep_hidden = true, .wants_size = nullptr}).counts.files == 3);
}

TEST_CASE("walk: names are raw bytes") {
  TempDir dir;
  const std::string name = "new\nline \xff\xfe\x01";
  write_file(dir / (name + "/" + name), "1");

  CHECK(walk(dir.path()).bytes.begin()->first == name + "/" + name);
}

TEST_CASE("walk: links to files and folders are followed, with the size of what they point to") {
  TempDir dir;
  write_file(dir / "real/x", "4444");
  TempDir root;
  fs::create_symlink(dir / "real", root / "folder");
  fs::create_symlink(dir / "real/x", root / "file");

  CHECK(walk(root.path()).bytes ==
        std::map<std::string, std::uint64_t>{{"file", 4}, {"folder/x", 4}});
}

TEST_CASE("walk: a link to an own ancestor is cut and counted, one to a sibling is not") {
  TempDir dir;
  write_file(dir / "a/b/x", "1");
  write_file(dir / "c/y", "1");
  fs::create_symlink(dir.path(), dir / "a/b/to_root");
  fs::create_symlink("..", dir / "a/b/to_parent");
  fs::create_symlink("../c", dir / "a/to_sibling");
  const Walked walked = walk(dir.path());

  CHECK(walked.counts.cut_loops == 2);
  CHECK(walked.bytes ==
        std::map<std::string, std::uint64_t>{{"a/b/x", 1}, {"c/y", 1}, {"a/to_sibling/y", 1}});
}

TEST_CASE("walk: a loop that leaves the root and comes back through a real folder ends too") {
  TempDir dir;
  write_file(dir / "above/root/x", "1");
  fs::create_symlink(dir / "above", dir / "above/root/up");
  const Walked walked = walk(dir / "above/root");

  CHECK(walked.counts.cut_loops == 1);
  CHECK(walked.bytes.size() == 1);
}

TEST_CASE("walk: a broken link is an io error with its path") {
  TempDir dir;
  write_file(dir / "a/x", "1");
  fs::create_symlink("nowhere", dir / "a/broken");
  const Error error = error_of([&] { (void)walk(dir.path()); });

  CHECK(error.code() == Code::io);
  CHECK(error.file() == (dir / "a/broken"));
  CHECK(error.cause() == "No such file or directory");
  CHECK(error.hint().find("broken link") != std::string::npos);
}

TEST_CASE("walk: a link to itself is an io error, not a hang") {
  TempDir dir;
  fs::create_symlink("self", dir / "self");
  CHECK(error_of([&] { (void)walk(dir.path()); }).code() == Code::io);
}

TEST_CASE("walk: what is neither file nor folder is counted, never opened") {
  TempDir dir;
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", dir / "device");
  CHECK(walk(dir.path()).counts.other == 2);
  CHECK(walk(dir.path()).counts.files == 0);
}

TEST_CASE("walk: a file whose size is not wanted is met without one") {
  TempDir dir;
  write_file(dir / "a.jpg", "22");
  write_file(dir / "b.txt", "333");
  fs::create_symlink("b.txt", dir / "c.txt");
  const auto wants_size = [](std::string_view name) { return name.ends_with(".jpg"); };

  CHECK(walk(dir.path(), {.keep_hidden = false, .wants_size = wants_size}).bytes ==
        std::map<std::string, std::uint64_t>{{"a.jpg", 2}, {"b.txt", 0}, {"c.txt", 0}});
}

TEST_CASE("walk: depth costs neither descriptors nor stack") {
  TempDir dir;
  fs::create_directories(folder_at_depth(dir.path(), 1000));
  write_file(folder_at_depth(dir.path(), 1000) + "/x", "1");
  const std::string text = text_from_child([&] {
    const rlimit few{16, 16};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const WalkCounts counts = walk_folder(dir.path(), {}, [](const WalkedFile&) {});
    return fmt::format("{} files in {} folders", counts.files, counts.directories);
  });
  CHECK(text == "1 files in 1000 folders");
}

TEST_CASE("walk: a path that is too long for the system is an io error that says so") {
  TempDir dir;
  const std::string name(250, 'n');
  const std::string text = text_from_child([&] {
    if (::chdir(dir.path().c_str()) != 0) return std::string("no chdir");
    for (int level = 0; level < 20; ++level) {
      if (::mkdir(name.c_str(), 0700) != 0 || ::chdir(name.c_str()) != 0)
        return std::string("no folder");
    }
    const Error error = error_of([&] { (void)walk(dir.path()); });
    return fmt::format("{} {}", error.code() == Code::io, error.cause());
  });
  CHECK(text == "true File name too long");
}

TEST_CASE(
    "walk: a missing root is not found, a file as root and an unreadable folder are io errors") {
  TempDir dir;
  write_file(dir / "file", "1");
  CHECK(error_of([&] { (void)walk(dir / "missing"); }).code() == Code::not_found);
  CHECK(error_of([&] { (void)walk(dir / "file"); }).cause() == "Not a directory");

  fs::create_directory(dir / "locked");
  fs::permissions(dir / "locked", fs::perms::none);
  fs::permissions(dir.path(), fs::perms::all);
  const std::string text = text_from_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return std::string("no setuid");
    const Error error = error_of([&] { (void)walk(dir.path()); });
    return std::string(error.code() == Code::io ? "io: " : "?: ") + error.what();
  });
  CHECK(text == "io: " + (dir / "locked") + ": folder cannot be opened: Permission denied");
}

TEST_CASE("list_folder: gives every entry, hidden ones too, sorted bytewise, links followed") {
  TempDir dir;
  write_file(dir / "b", "1");
  write_file(dir / "\xc3\xa4", "1");
  write_file(dir / "B/x", "1");
  write_file(dir / ".hidden", "1");
  fs::create_symlink("B", dir / "link");
  const std::vector<FolderEntry> entries = list_folder(dir.path());

  std::string text;
  for (const FolderEntry& entry : entries) text += entry.name + (entry.is_directory ? "/ " : " ");
  CHECK(text == ".hidden B/ b link/ \xc3\xa4 ");
  CHECK(error_of([&] { (void)list_folder(dir / "missing"); }).code() == Code::not_found);
}
