#include <vector>

#include <doctest/doctest.h>

#include "shale/sources/row_table.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"
#include "tests/unit/sources/array_files.hpp"

namespace shale {
namespace {

using namespace test;

// All rows, the last one first.
std::string rows_backwards(const LocatedRows& rows) {
  RowLoader loader(rows, 1 << 16);
  std::string all;
  for (std::uint64_t row = rows.rows(); row-- > 0;) {
    const ColumnRange range{row * rows.row_bytes(), rows.row_bytes()};
    CHECK(loader.load({&range, 1}) == 1);
    all.insert(0, as_text(loader.loaded(0)));
  }
  return all;
}

TEST_CASE("row table: rows of arrays are read in any order, however they lie in their files") {
  const ArrayFolder folder;
  for (const std::vector<std::string>& words : kWays) {
    CAPTURE(words[0]);
    const RowTable table = table_of_arrays(folder.request(words));
    REQUIRE(table.columns.size() == 1);
    CHECK(table.row_bytes(0) == 4);
    CHECK(rows_backwards(*table.columns[0].locate({})) == folder.rows);
  }
}

TEST_CASE("row table: only what does not lie in rows needs scratch space") {
  const ArrayFolder folder;
  for (const std::vector<std::string>& words : kWays) {
    CAPTURE(words[0]);
    const bool is_moved = words[0] == "x=fortran.npy" || words[0] == "x=member.npz";
    const RowTable table = table_of_arrays(folder.request(words));
    CHECK(table.columns[0].scratch.kept == (is_moved ? folder.rows.size() : 0));
    CHECK(table.columns[0].scratch.most >= table.columns[0].scratch.kept);
  }
}

OpenedDataset opened_set(const std::string& path) {
  OpenedDataset dataset;
  dataset.paths = DatasetPaths(path);
  dataset.shards = open_shard_list(dataset.paths);
  dataset.manifest = dataset.shards.manifest();
  return dataset;
}

// Fifty rows of three bytes and of an int16, seven a shard.
SampleSet fifty_rows() {
  SampleSet set;
  set.schema = {.fields = {{"x", Kind::tensor, DType::parse("|u1"), {3}},
                           {"y", Kind::integer, DType::parse("<i2"), {}}},
                .has_keys = false};
  for (std::int64_t i = 0; i < 50; ++i)
    set.samples.push_back({std::to_string(i), {set.keep(std::string(3, static_cast<char>(i))), i}});
  return set;
}

TEST_CASE("row table: rows of a dataset are read over all its shards, by field") {
  const TempDir dir;
  (void)write_set(toy_rows_format, fifty_rows(), dir / "set", {.limit_samples = 7});
  const auto table = table_of_dataset(opened_set(dir / "set"), {.fields = {.only = {"y", "x"}}});

  REQUIRE(table.has_value());
  std::string x, y;
  for (char i = 0; i < 50; ++i) x += {i, i, i}, y += {i, 0};
  CHECK(table->info.schema.fields[0].name == "y");
  CHECK(rows_backwards(*table->columns[0].locate({})) == y);
  CHECK(rows_backwards(*table->columns[1].locate({})) == x);
}

TEST_CASE("row table: a dataset's damaged file is found before a row of it is read, no other") {
  const TempDir dir;
  (void)write_set(toy_rows_format, fifty_rows(), dir / "set", {.limit_samples = 7});
  const std::string file = dir / "set/shard-000003.y.rows.toy";
  std::string bytes = read_text(file);
  bytes.back() ^= 1;
  write_file(file, bytes);
  const auto table = table_of_dataset(opened_set(dir / "set"), {});

  CHECK_NOTHROW(table->columns[0].locate({}));
  const Error error = error_of([&] { (void)table->columns[1].locate({}); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.what() == doctest::Contains("shard-000003.y.rows.toy"));
}

TEST_CASE("row table: samples of different sizes make none") {
  const TempDir dir;
  SampleSet set;
  set.schema.fields = {{.name = "label", .kind = Kind::integer}};
  set.samples.push_back({"a", {std::int64_t{0}}});
  (void)write_set(toy_format, set, dir / "set");
  CHECK_FALSE(table_of_dataset(opened_set(dir / "set"), {}).has_value());
}

}  // namespace
}  // namespace shale
