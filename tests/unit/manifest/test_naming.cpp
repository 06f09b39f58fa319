#include <doctest/doctest.h>

#include "shale/base/path_text.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

TEST_CASE("shard name: six digits, more from a million on") {
  CHECK(shard_name(0) == "shard-000000");
  CHECK(shard_name(7) == "shard-000007");
  CHECK(shard_name(999'999) == "shard-999999");
  CHECK(shard_name(1'000'000) == "shard-1000000");
}

TEST_CASE("dataset file: manifest, lists and all files of shards, and nothing of a user's") {
  for (const std::string_view name :
       {"dataset.json", "skipped.csv", "images.csv", "ignored.csv", "shard-000000.tfrecord",
        "shard-000000.index.npy", "shard-1234567.blocks.npy", "shard-000001.head.toy"}) {
    CAPTURE(name);
    CHECK(is_dataset_file(name));
  }
  for (const std::string_view name :
       {"", "dataset.json.bak", "my-dataset.json", "shard-", "shard-000000", "shard-00000.tfrecord",
        "shard-000000x.npy", "shard-0000007.lmdb", "shard-abcdef.npy", "shards-000000.npy",
        "Shard-000000.npy", ".shale", "README.md", "shard-000000.idx", "shard-000000.tar.idx"}) {
    CAPTURE(name);
    CHECK(!is_dataset_file(name));
  }
}

TEST_CASE("part name: comes back as the number that it has, and no other name does") {
  CHECK(part_name({3, 128}) == "part-00003-of-00128");
  CHECK(part_of_name("part-00003-of-00128") == PartNumber{3, 128});
  CHECK(part_of_name(part_name({123'456, 1'000'000})) == PartNumber{123'456, 1'000'000});
  for (const char* name : {"part-3-of-128", "part-00128-of-00128", "part-00003-of-00128x",
                           "part-00003", "xpart-00003-of-00128", "part--0003-of-00128",
                           "part-00000-of-00000", "part-00000-of-1000001", ""}) {
    CAPTURE(name);
    CHECK_FALSE(part_of_name(name));
  }
}

TEST_CASE("path: joined with one slash, and none for the working directory") {
  CHECK(join_path("out", "a") == "out/a");
  CHECK(join_path("out/", "a") == "out/a");
  CHECK(join_path("/", "a") == "/a");
  CHECK(join_path("", "a") == "a");
}

}  // namespace
}  // namespace shale
