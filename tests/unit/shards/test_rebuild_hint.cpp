#include <doctest/doctest.h>

#include "shale/shards/rebuild_hint.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::TempDir;

TEST_CASE("rebuild hint: the command names the dataset, the file of another tool, or the set") {
  struct Row {
    std::string_view lists, file, command;
  };
  constexpr Row kRows[] = {
      {"sets/out", "sets/out/shard-000003.lmdb", "shale index sets/out"},
      {"sets/out/", "sets/out/shard-000003.x.npy", "shale index sets/out"},
      {"data", "data/train.lmdb", "shale index data/train.lmdb"},
      {"indexes", "data/train.lmdb", "shale index data/train.lmdb --index-dir indexes"},
      {"data/.shale-index", "data/a/0.h5", "shale index data"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.command);
    CHECK(rebuild_command(std::string(row.lists), std::string(row.file)) == row.command);
  }
}

TEST_CASE("rebuild hint: of a set with its index elsewhere the files are as they were named") {
  const TempDir folder;
  test::write_file(folder / "dataset.json", "{}");

  CHECK(rebuild_hint(folder.path(), "data/a.h5") ==
        "run 'shale index FILE... --index-dir " + folder.path() +
            "' to build what is missing or wrong again");
}

}  // namespace
}  // namespace shale
