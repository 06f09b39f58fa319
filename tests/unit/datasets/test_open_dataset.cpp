#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "shale/datasets/open_dataset.hpp"
#include "shale/shards/work_folder.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;

// A file of another tool with three rows.
struct Grid {
  Grid() { write_file(path, grid_bytes(columns_of(3), 3)); }
  [[nodiscard]] OpenedDataset open(const DatasetRequest& request) const {
    return open_dataset(request, {});
  }
  TempDir dir;
  std::string path = dir / "rows.grid";
};

TEST_CASE("open dataset: what is not there, not finished or not known is refused by its kind") {
  const TempDir dir;
  write_file(dir / "notes/a.txt", "no dataset");
  { WorkFolder(dir / "begun").begin("a test"); }
  struct Row {
    std::string name;
    Code code;
  };
  const Row rows[] = {{"nothing", Code::not_found},
                      {"begun", Code::mismatch},
                      {"notes", Code::unsupported},
                      {"notes/a.txt", Code::unsupported}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Error error = error_of([&] { (void)open_dataset({.path = dir / row.name}, {}); });
    CHECK(error.code() == row.code);
    CHECK(error.file() == dir / row.name);
  }
}

TEST_CASE("open dataset: a file without an index gets one that leaves no name") {
  const Grid grid;
  const OpenedDataset opened = grid.open({.path = grid.path});
  CHECK(opened.manifest.digest.samples == 3);
  CHECK(opened.temporary_index != nullptr);
  CHECK(files_in(grid.dir.path()) == std::vector<std::string>{"rows.grid"});
}

TEST_CASE("open dataset: an index that is there is used, unless it lacks what is wanted") {
  const Grid grid;
  (void)index_file(indexing(grid.path), {});
  CHECK(grid.open({.path = grid.path}).temporary_index == nullptr);
  CHECK(grid.open({.path = grid.path, .with_checksums = true}).temporary_index != nullptr);
  (void)index_file(indexing(grid.path, true), {});
  CHECK(grid.open({.path = grid.path, .with_checksums = true}).temporary_index == nullptr);
}

TEST_CASE("open dataset: the index of a file that has changed is refused") {
  const Grid grid;
  (void)index_file(indexing(grid.path), {});
  std::string bytes = read_text(grid.path);
  bytes.back() ^= 1;
  write_file(grid.path, bytes);
  CHECK(error_of([&] { (void)grid.open({.path = grid.path}); }).code() == Code::damaged);
}

TEST_CASE("open dataset: options of files are refused for anything else, by name") {
  CHECK_NOTHROW(refuse_file_options("in", kOwnDataset, "", {}));
  for (const auto& [folder, dialect] :
       {std::pair<std::string, std::optional<Dialect>>{"idx", {}}, {"", Dialect::plain}}) {
    const auto refuse = [&, f = folder, d = dialect] {
      refuse_file_options("in", kOwnDataset, f, d);
    };
    CHECK(error_of(refuse).code() == Code::usage);
    CHECK(error_of(refuse).file() == "in");
  }
}

TEST_CASE("row of number: a key is a row if it is written as the number of one") {
  struct Row {
    std::string_view key;
    std::optional<std::uint64_t> row;
  };
  const Row rows[] = {
      {"0", 0},   {"9", 9},   {"10", {}}, {"", {}},    {"-1", {}},
      {"+1", {}}, {"01", {}}, {"1 ", {}}, {"1.0", {}}, {"18446744073709551616", {}}};
  for (const Row& row : rows) {
    CAPTURE(row.key);
    CHECK(row_of_number(row.key, 10) == row.row);
  }
  CHECK_FALSE(row_of_number("0", 0).has_value());
}

}  // namespace
}  // namespace shale
