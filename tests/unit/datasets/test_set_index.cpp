#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/datasets/index_set.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/datasets/set_index.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

// A folder of three files of another tool, with 3, 4 and 5 rows.
struct Grids {
  Grids() {
    for (std::size_t file = 0; file < 3; ++file) add("part-" + std::to_string(file), 3 + file);
  }
  void add(const std::string& name, std::size_t rows) const {
    write_file(dir / name, grid_bytes(columns_of(rows), rows));
  }
  [[nodiscard]] IndexedSet index() const {
    return index_set({.path = dir.path(), .files = files_of_set(dir.path()).value()}, {});
  }
  [[nodiscard]] OpenedDataset open() const { return open_dataset({.path = dir.path()}, {}); }
  [[nodiscard]] Error refusal() const {
    return error_of([&] { (void)open(); });
  }
  TempDir dir;
};

TEST_CASE("set index: it says what the files say, and makes no temporary one") {
  const Grids grids;
  const OpenedDataset before = grids.open();
  const IndexedSet made = grids.index();
  CHECK(made.indexed == 3);
  CHECK(made.index == grids.dir / ".shale-index/dataset.json");
  const OpenedDataset after = grids.open();
  CHECK(after.temporary_index == nullptr);
  CHECK(after.paths.manifest == made.index);
  CHECK(after.manifest.digest.samples == 12);
  CHECK(after.manifest.schema == before.manifest.schema);
  CHECK(after.manifest.source.fingerprint == before.manifest.source.fingerprint);
  CHECK(after.file_states == before.file_states);
}

TEST_CASE("set index: files that change, go or come are named, and indexed again alone") {
  const Grids grids;
  (void)grids.index();
  grids.add("part-1", 7);
  CHECK(grids.refusal().code() == Code::damaged);
  CHECK(grids.refusal().file() == grids.dir / "part-1");
  IndexedSet made = grids.index();
  CHECK(made.indexed == 1);
  CHECK(made.kept == 2);
  fs::rename(grids.dir / "part-0", grids.dir / "part-9");
  CHECK(grids.refusal().code() == Code::damaged);
  CHECK(grids.refusal().file() == grids.dir / "part-0");
  made = grids.index();
  CHECK(made.kept == 3);
  CHECK(made.gone == 1);
  grids.add("part-10", 2);
  const OpenedDataset opened = grids.open();
  CHECK(opened.manifest.digest.samples == 15);
  REQUIRE(opened.notes.size() == 1);
  CHECK(opened.notes[0].find("part-10") != std::string::npos);
}

TEST_CASE("set index: bytes that change in the same size are found by who does not trust sizes") {
  const Grids grids;
  (void)grids.index();
  std::string bytes = grid_bytes(columns_of(3), 3);
  bytes.back() ^= 1;
  write_file(grids.dir / "part-0", bytes);
  CHECK(grids.refusal().code() == Code::damaged);
  CHECK_NOTHROW((void)open_dataset({.path = grids.dir.path(), .trusts_sizes = true}, {}));
}

TEST_CASE("set index: of a large set names are enough for who reads nothing") {
  const Grids grids;
  (void)grids.index();
  const DatasetRequest request{
      .path = grids.dir.path(), .trusts_sizes = true, .trusts_names = true};
  CHECK(!open_large_set(request, 3));
  CHECK(!open_large_set({.path = grids.dir.path(), .trusts_sizes = true}, 2));
  grids.add("part-1", 9);
  write_file(grids.dir / "README", "text");
  const std::optional<OpenedDataset> set = open_large_set(request, 2);
  REQUIRE(set);
  CHECK(set->manifest.digest.samples == 12);
  REQUIRE(set->notes.size() == 1);
  CHECK(set->notes[0].find("shale verify") != std::string::npos);
  grids.add("part-7", 1);  // a file that the index does not know
  CHECK(!open_large_set(request, 2));
  fs::remove(grids.dir / "part-7");
  CHECK(open_large_set(request, 2));
  fs::remove(grids.dir / "part-2");
  CHECK(!open_large_set(request, 2));
}

TEST_CASE("set index: a pattern, a list and several files need a folder for it") {
  const Grids grids;
  SetIndexRequest request{.files = files_of_set(grids.dir.path()).value()};
  CHECK(error_of([&] { (void)index_set(request, {}); }).code() == Code::usage);
  request.index_folder = grids.dir.path();
  CHECK(error_of([&] { (void)index_set(request, {}); }).code() == Code::usage);
  const TempDir other;
  request.index_folder = other / "index";
  CHECK(index_set(request, {}).indexed == 3);
}

TEST_CASE("set index: what is not of shale stays") {
  const Grids grids;
  write_file(grids.dir / ".shale-index/notes", "mine");
  CHECK(error_of([&] { (void)grids.index(); }).code() == Code::exists);
  CHECK(files_in(grids.dir / ".shale-index") == std::vector<std::string>{"notes"});
}

TEST_CASE("set index: paths are relative to the folder, or to the deepest that holds all") {
  const std::vector<SetMember> files = {{"x", "/a/b/c/x"}, {"y", "/a/b/cd/y"}, {"z", "/a/b/z"}};
  const RootedFiles all = rooted("", files);
  CHECK(all.folder == "/a/b/");
  CHECK(all.names == std::vector<std::string>{"c/x", "cd/y", "z"});
}

}  // namespace
}  // namespace shale
