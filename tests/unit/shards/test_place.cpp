#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/shards/place.hpp"
#include "shale/shards/work_folder.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

namespace fs = std::filesystem;

TEST_CASE("place: what stands at a path is named, and nothing of it is touched") {
  const TempDir dir;
  fs::create_directory(dir / "empty");
  write_file(dir / "file", "x");
  write_file(dir / "photos/a.jpg", "x");
  write_file(dir / "foreign/dataset.json", R"({"name": "of somebody else"})");
  write_file(dir / "strange/.shale/notes", "of somebody else");
  const std::vector<std::string> before = files_in(dir.path());

  CHECK(look_at(dir / "nothing") == Place::absent);
  CHECK(look_at(dir / "empty") == Place::empty_folder);
  CHECK(look_at(dir / "file") == Place::other_file);
  for (const char* folder : {"photos", "foreign", "strange"}) {
    CAPTURE(folder);
    CHECK(look_at(dir / folder) == Place::other_folder);
    CHECK_FALSE(holds_dataset(dir / folder));
  }
  CHECK(files_in(dir.path()) == before);
}

TEST_CASE("place: shards are shale's if one of their lists is beside them") {
  const TempDir dir;
  write_file(dir / "others/shard-000000.tar", "x");
  write_file(dir / "others/shard-000000.tar.index.npy", "x");
  write_file(dir / "others/shard-000000.json", "x");
  write_file(dir / "index/shard-000000.tar", "x");
  write_file(dir / "index/shard-000000.index.npy", "x");
  write_file(dir / "blocks/shard-000001.blocks.npy", "x");

  CHECK_FALSE(has_shards(dir / "others"));
  CHECK(has_shards(dir / "index"));
  CHECK(has_shards(dir / "blocks"));
}

TEST_CASE("place: a file that takes the place of another is opened again, one that grows is not") {
  const TempDir dir;
  const std::string path = dir / "one.h5";
  write_file(path, "old");
  int opened = 0;
  const auto open = [&](const DatasetPaths&) {
    if (++opened > 1) return fs::file_size(path);
    write_file(dir / "next", "newer");
    fs::rename(dir / "next", path);
    throw Error(Code::damaged, "is not what its index says").at(path);
  };

  CHECK(open_standing(path, open) == 5);
  CHECK(opened == 2);

  const StandingState standing(path);
  write_file(path, "newer, and more");
  CHECK_FALSE(standing.is_replaced());
  fs::rename(path, dir / "moved");
  CHECK(standing.is_replaced());
  CHECK(standing.replaced().file() == path);
}

TEST_CASE("place: the manifest is named where users find it") {
  CHECK(public_manifest("out/.shale/new/dataset.json") == "out/dataset.json");
  CHECK(public_manifest("out/dataset.json") == "out/dataset.json");
  CHECK(replaced_dataset("/a/.shale/new/dataset.json").file() == "/a/dataset.json");
}

TEST_CASE("place: a link counts as what it leads to, one that leads nowhere as absent") {
  const TempDir dir;
  fs::create_directory(dir / "empty");
  fs::create_symlink("empty", dir / "link");
  fs::create_symlink("nowhere", dir / "dangling");
  fs::create_symlink("loop", dir / "loop");

  CHECK(look_at(dir / "link") == Place::empty_folder);
  CHECK(look_at(dir / "dangling") == Place::absent);
  const Error error = error_of([&] { (void)look_at(dir / "loop"); });
  CHECK(error.code() == Code::io);
  CHECK(error.file() == dir / "loop");
  CHECK_FALSE(holds_dataset(dir / "loop"));
}

}  // namespace
}  // namespace shale
