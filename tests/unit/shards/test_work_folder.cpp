#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "shale/base/path_text.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/work_folder.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/written_set.hpp"
#include "tests/unit/io/child_process.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

ManifestShard shard_numbered(std::uint64_t number) {
  ManifestShard shard;
  shard.name = shard_name(number);
  shard.files = {{shard.name + ".toy", 1, {}}};
  shard.index = {shard.name + ".index.npy", 1, {}};
  shard.blocks = {shard.name + ".blocks.npy", 1, {}};
  return shard;
}

using Names = std::vector<std::string>;

TEST_CASE("work folder: a second writer of the directory is refused, one that waits is asked") {
  const TempDir dir;
  const WorkFolder first(dir / "out");
  const WorkFolder of_file(WorkFolder::BesideFile{dir / "f.npy"});
  const std::string second = text_from_child([&] {
    std::string text;
    text +=
        error_of([&] { WorkFolder folder(dir / "out"); }).code() == Code::exists ? "refused " : "";
    const auto stop = [] { throw Error(Code::interrupted, "stopped"); };
    const auto wait = [&] { (void)WorkFolder(WorkFolder::BesideFile{dir / "f.npy"}, stop); };
    return text + error_of(wait).what();
  });
  CHECK(second == "refused stopped");
}

TEST_CASE("work folder: the journal tells the request and the shards of the run before") {
  const TempDir dir;
  {
    WorkFolder work(dir / "out");
    CHECK(work.previous_run().head.empty());
    work.begin("to=toy\tseed=7");
    work.add_shard(shard_numbered(0), "samples=1");
    work.add_shard(shard_numbered(1), "samples=2");
  }
  const WorkFolder next(dir / "out");
  Names names;
  next.for_each_shard([&](const ManifestShard& shard) { names.push_back(shard.name); });

  CHECK(next.previous_run().head == "to=toy\tseed=7");
  CHECK(next.previous_run().lines == 2);
  CHECK(next.last_state() == "samples=2");
  CHECK(names == Names{"shard-000000", "shard-000001"});
}

TEST_CASE("work folder: a request that was cut by a kill counts as none") {
  const TempDir dir;
  { WorkFolder(dir / "out").begin("to=toy\tseed=7"); }
  fs::resize_file(dir / "out/.shale/journal", 9);
  CHECK(WorkFolder(dir / "out").previous_run().head.empty());
}

TEST_CASE("work folder: clearing empties new/ and takes nothing else, not from the folder either") {
  const TempDir dir;
  { WorkFolder(dir / "out").begin("a test"); }
  for (const char* name : {"out/shard-000000.toy", "out/.shale/new/shard-000001.toy",
                           "out/.shale/new/.dataset.json.tmp", "out/.shale/notes.txt",
                           "out/.shale/new/deep/notes.txt", "out/notes.txt"}) {
    write_file(dir / name, "x");
  }
  WorkFolder work(dir / "out");
  work.clear();
  work.begin("again");
  work.remove();
  CHECK(files_in(dir / "out") == Names{".shale/lock", ".shale/new/deep/notes.txt",
                                       ".shale/notes.txt", "notes.txt", "shard-000000.toy"});
  CHECK(work_folder_at(dir / "out/.shale") == WorkFolderState::ours);
}

TEST_CASE("work folder: a run that goes on keeps whole shards and lists, and adds to the journal") {
  const TempDir dir;
  {
    WorkFolder work(dir / "out");
    work.begin("a test");
    work.add_shard(shard_numbered(0), "samples=1");
  }
  for (const char* name :
       {"shard-000000.toy", "shard-000001.toy", "images.csv", "skipped.csv", "skipped.csv.part"})
    write_file(join_path(dir / "out/.shale/new", name), "x");
  WorkFolder work(dir / "out");
  work.resume(work.previous_run());
  CHECK(files_in(work.path()) == Names{"images.csv", "shard-000000.toy", "skipped.csv"});
  CHECK(work.holds_shards());
  work.add_shard(shard_numbered(1), "samples=2");
  CHECK(work.previous_run().lines == 2);
}

TEST_CASE("work folder: the listing stays until the run ends, or another one begins") {
  const TempDir dir;
  WorkFolder work(dir / "out");
  write_file(work.new_listing_path(), "new");
  work.clear();
  work.keep_new_listing();
  work.begin("a test");
  CHECK(work.holds_listing());
  work.drop_unfinished_files();
  work.drop_journal();
  CHECK(work.holds_listing());
  CHECK(work.previous_run().head.empty());
  work.clear();
  CHECK(!work.holds_listing());
  write_file(work.new_listing_path(), "new");
  work.remove();
  CHECK(!fs::exists(dir / "out/.shale"));
}

TEST_CASE("work folder: what a stop leaves are whole shards, lists and the journal") {
  const TempDir dir;
  WorkFolder work(dir / "out");
  work.begin("a test");
  for (const char* name : {"shard-000000.toy", "shard-000001.toy", "images.csv", "dataset.json"})
    write_file(join_path(work.path(), name), "x");
  work.add_shard(shard_numbered(0), "samples=1");
  work.drop_unfinished_files();
  CHECK(files_in(dir / "out") == Names{".shale/journal", ".shale/lock", ".shale/new/images.csv",
                                       ".shale/new/shard-000000.toy"});
}

TEST_CASE("work folder: an abandoned run leaves no trace, and no folder that it made") {
  const TempDir dir;
  WorkFolder(dir / "new/er/est").abandon();
  fs::create_directory(dir / "old");
  WorkFolder(dir / "old").abandon();
  WorkFolder(WorkFolder::BesideFile{dir / "old/a.npy"}).abandon();
  CHECK(!fs::exists(dir / "new"));
  CHECK(fs::is_empty(dir / "old"));
}

TEST_CASE("work folder: a run whose folder was deleted removes nothing of the next one's") {
  const TempDir dir;
  const std::string out = dir / "out";
  std::optional<WorkFolder> first(std::in_place, out);
  std::filesystem::remove_all(out);
  WorkFolder next(out);
  write_file(join_path(next.path(), "shard-000000.tfrecord"), "its");
  first->drop_unfinished_files();
  first->abandon();
  first.reset();
  CHECK(read_text(join_path(next.path(), "shard-000000.tfrecord")) == "its");
  CHECK(error_of([&] { const WorkFolder another(out); }).code() == Code::exists);
}

TEST_CASE("work folder: one that a kill left before it was marked is taken over") {
  for (const char* left : {"", "shale wor"}) {
    const TempDir dir;
    fs::create_directories(dir / "out/.shale");
    CHECK(work_folder_at(dir / "out/.shale") == WorkFolderState::blank);
    write_file(dir / "out/.shale/lock", left);
    CHECK(work_folder_at(dir / "out/.shale") == WorkFolderState::blank);
    WorkFolder(dir / "out").remove();
    CHECK(fs::is_empty(dir / "out"));
  }
}

TEST_CASE("work folder: what a kill leaves beside a finished output is cleared, nothing else is") {
  const TempDir dir;
  const std::string of_set = dir / "out/.shale", of_file = dir / "out/.a.npy.shale";
  const auto clear = [&] {
    WorkFolder::clear_left(dir / "out");
    WorkFolder::clear_left_of_file(dir / "out/a.npy");
  };
  clear();
  CHECK(!fs::exists(dir / "out"));  // nor is anything made
  for (const std::string& path : {of_set, of_file}) fs::create_directories(path);
  clear();
  CHECK(fs::is_empty(dir / "out"));
  { const WorkFolder killed(dir / "out"), beside(WorkFolder::BesideFile{dir / "out/a.npy"}); }
  clear();
  CHECK(fs::is_empty(dir / "out"));
  for (const std::string& path : {of_set, of_file}) write_file(path + "/notes", "x");
  clear();
  CHECK(fs::exists(of_set + "/notes"));
  CHECK(fs::exists(of_file + "/notes"));
}

// What somebody else may have under the name of a work folder.
void make_foreign(const std::string& kind, const std::string& path, const std::string& precious) {
  write_file(precious + "/lock", "");
  if (kind == "file") write_file(path, "x");
  if (kind == "folder") write_file(path + "/deep/notes", "x");
  if (kind == "journal without lock") write_file(path + "/journal", "x");
  if (kind == "lock of another tool") write_file(path + "/lock", "pid 7");
  if (kind == "link to a folder") fs::create_directory_symlink(precious, path);
  if (kind == "link that leads nowhere") fs::create_symlink("nowhere", path);
  if (!kind.ends_with("lock")) return;
  fs::create_directory(path);
  if (kind == "linked lock") fs::create_symlink(precious + "/lock", path + "/lock");
  if (kind == "hard-linked lock") fs::create_hard_link(precious + "/lock", path + "/lock");
  if (kind == "folder called lock") fs::create_directory(path + "/lock");
}

TEST_CASE(
    "work folder: what stands there and is not a work folder of shale is refused, untouched") {
  for (const std::string kind :
       {"file", "folder", "journal without lock", "lock of another tool", "link to a folder",
        "link that leads nowhere", "linked lock", "hard-linked lock", "folder called lock"}) {
    CAPTURE(kind);
    const TempDir dir;
    fs::create_directory(dir / "out");
    make_foreign(kind, dir / "out/.shale", dir / "precious");
    const std::map<std::string, std::string> before = content_of(dir.path());

    const Error error = error_of([&] { WorkFolder work(dir / "out"); });

    CHECK(error.code() == Code::exists);
    CHECK(error.file() == dir / "out/.shale");
    CHECK(content_of(dir.path()) == before);
  }
}

TEST_CASE("work folder: where no folder can be made is an error of the storage, by path") {
  const TempDir dir;
  write_file(dir / "file", "x");
  const Error error = error_of([&] { WorkFolder work(dir / "file"); });
  CHECK(error.code() == Code::io);
  CHECK(error.file().starts_with(dir / "file"));
}

TEST_CASE("work folder: whole shards are kept by a run that goes on, durable or not") {
  const TempDir dir;
  {
    WorkFolder work(dir / "out");
    work.begin("a test");
    work.add_shard(shard_numbered(0), "samples=1");
    work.add_whole_shard(shard_numbered(1), "samples=2");
    CHECK(work.shards() == 2);
    CHECK(work.holds_shards());
    for (std::uint64_t number = 0; number < 3; ++number) {
      for (const char* suffix : {".toy", ".index.npy", ".blocks.npy"})
        write_file(join_path(work.path(), shard_name(number) + suffix), "x");
    }
    work.drop_unfinished_files();
    CHECK(files_in(work.path()).size() == 6);
  }
  WorkFolder work(dir / "out");
  const JournalSummary previous = work.previous_run();
  CHECK(previous.lines == 1);
  REQUIRE(previous.tail.size() == 1);
  CHECK(WorkFolder::parse_line(previous.tail.front()).state == "samples=2");
  work.resume(previous);
  CHECK(work.previous_run().lines == 2);
  CHECK(work.last_state() == "samples=2");
  CHECK(files_in(work.path()).size() == 6);
  work.clear();
  CHECK(files_in(dir / "out/.shale") == Names{"lock"});
}

}  // namespace
}  // namespace shale
