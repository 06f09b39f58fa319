#include <filesystem>

#include <doctest/doctest.h>

#include "shale/shards/naming.hpp"
#include "shale/shards/work_folder.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/written_set.hpp"
#include "tests/unit/io/child_process.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

ManifestShard shard_of(std::uint64_t number) {
  ManifestShard shard;
  shard.name = shard_name(number);
  shard.files = {{shard.name + ".toy", 1, {}}};
  shard.index = {shard.name + ".index.npy", 1, {}};
  shard.blocks = {shard.name + ".blocks.npy", 1, {}};
  return shard;
}

TEST_CASE("work folder: a second writer of the directory is refused") {
  const TempDir dir;
  const WorkFolder first(dir / "out");
  const std::string second = text_from_child([&] {
    return std::string(error_of([&] { WorkFolder folder(dir / "out"); }).code() == Code::exists
                           ? "refused"
                           : "other");
  });
  CHECK(second == "refused");
}

TEST_CASE("work folder: the journal tells the request and the shards of the run before") {
  const TempDir dir;
  {
    WorkFolder work(dir / "out");
    CHECK(work.previous_request().empty());
    work.begin("to=toy\tseed=7");
    work.add_shard(shard_of(0));
    work.add_shard(shard_of(1));
  }
  const WorkFolder next(dir / "out");
  std::vector<std::string> names;
  next.for_each_shard([&](const ManifestShard& shard) { names.push_back(shard.name); });

  CHECK(next.previous_request() == "to=toy\tseed=7");
  CHECK(names == std::vector<std::string>{"shard-000000", "shard-000001"});
}

TEST_CASE("work folder: a request that was cut by a kill counts as none") {
  const TempDir dir;
  write_file(dir / "out/.shale/journal", "to=toy\tse");
  CHECK(WorkFolder(dir / "out").previous_request().empty());
}

TEST_CASE("work folder: clearing removes the files of the run before and nothing of the user's") {
  const TempDir dir;
  for (const char* name : {"out/shard-000000.toy", "out/skipped.csv", "out/.shale/shard-000001.toy",
                           "out/.shale/journal", "out/notes.txt", "out/shard-photos.zip"}) {
    write_file(dir / name, "x");
  }
  WorkFolder work(dir / "out");
  CHECK(work.holds_shards());
  work.clear_previous_run();

  CHECK(!work.holds_shards());
  CHECK(files_in(dir / "out") ==
        std::vector<std::string>{".shale/lock", "notes.txt", "shard-photos.zip"});
  work.begin("anew");
}

TEST_CASE("work folder: dropping temporary files keeps the journal and what has its final name") {
  const TempDir dir;
  WorkFolder work(dir / "out");
  work.begin("a test");
  write_file(dir / "out/.shale/shard-000000.toy", "x");
  write_file(dir / "out/shard-000000.toy", "x");
  work.drop_temporary_files();
  CHECK(files_in(dir / "out") ==
        std::vector<std::string>{".shale/journal", ".shale/lock", "shard-000000.toy"});
}

TEST_CASE("work folder: an abandoned run leaves no trace, and no folder that it made") {
  const TempDir dir;
  WorkFolder(dir / "new").abandon();
  fs::create_directory(dir / "old");
  WorkFolder(dir / "old").abandon();
  CHECK(!fs::exists(dir / "new"));
  CHECK(fs::is_empty(dir / "old"));
}

TEST_CASE("work folder: after removal only the dataset is left") {
  const TempDir dir;
  WorkFolder work(dir / "out");
  work.begin("a test");
  write_file(dir / "out/shard-000000.toy", "x");
  work.remove();
  CHECK(files_in(dir / "out") == std::vector<std::string>{"shard-000000.toy"});
}

TEST_CASE("work folder: where no folder can be made is an error of the storage, by path") {
  const TempDir dir;
  write_file(dir / "file", "x");
  const Error error = error_of([&] { WorkFolder work(dir / "file"); });
  CHECK(error.code() == Code::io);
  CHECK(error.file().starts_with(dir / "file"));
}

TEST_CASE(
    "dataset removal: takes what the manifest names, the native index too, and nothing else") {
  const TempDir dir;
  (void)write_set(toy_format, plain_samples(schema_of(toy_format.can.kinds), 5, 10), dir / "out");
  write_file(dir / "out/notes.txt", "mine");
  REQUIRE(fs::exists(dir / "out/toy.list"));
  remove_dataset(dir / "out");
  CHECK(files_in(dir / "out") == std::vector<std::string>{"notes.txt"});
}

}  // namespace
}  // namespace shale
