#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/shards/fixed_rows.hpp"

#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

const Field kCount{.name = "count", .kind = Kind::integer, .dtype = DType::parse("<i2")};
const Field kFlag{.name = "flag", .kind = Kind::integer, .dtype = DType::parse("|b1")};
const Field kDepth{
    .name = "depth", .kind = Kind::tensor, .dtype = DType::parse("|u1"), .shape = {3}};

TEST_CASE("fixed rows: a row is where arithmetic says, and its numbers are read") {
  const TempDir dir;
  write_file(dir / "a", std::string_view("..\1\0\xff\xff\3\0", 8));
  write_file(dir / "b", "#abcdefghi");
  const InputFile a(dir / "a"), b(dir / "b");
  FixedRowReader reader({{&a, &kCount, 2, 2}, {&b, &kDepth, 1, 3}});

  for (const std::uint64_t row : {2U, 0U, 1U}) {
    const IndexRow found = reader.row(row);
    REQUIRE(found.cells.size() == 2);
    CHECK(found.key.offset == kMissing);
    CHECK(found.cells[0].integer == (row == 1 ? -1 : static_cast<std::int64_t>(row + 1)));
    CHECK(found.cells[0].place == FieldPlace{.offset = 2 + 2 * row, .length = 2});
    CHECK(found.cells[1].place == FieldPlace{.offset = 1 + 3 * row, .length = 3});
  }
}

TEST_CASE("fixed rows: a number that is none, or beyond the end, is damaged at its byte") {
  const TempDir dir;
  write_file(dir / "a", std::string_view("\1\2", 2));
  const InputFile a(dir / "a");
  FixedRowReader reader({{&a, &kFlag, 0, 1}});

  CHECK(reader.row(0).cells[0].integer == 1);
  const Error error = error_of([&] { (void)reader.row(1); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == dir / "a");
  CHECK(error.offset() == 1);
  CHECK(error_of([&] { (void)reader.row(2); }).code() == Code::damaged);
}

TEST_CASE("fixed rows: a run is the values of its rows, column by column") {
  const TempDir dir;
  write_file(dir / "a", "..aabbccdd");
  write_file(dir / "b", "#abcdefghijkl");
  const InputFile a(dir / "a"), b(dir / "b");
  FixedRun run(1, 2);

  CHECK(as_text(run.read({&a, &kCount, 2, 2})) == "bbcc");
  CHECK(as_text(run.read({&b, &kDepth, 1, 3})) == "defghi");

  REQUIRE(run.columns().size() == 2);
  CHECK(as_text(run.columns()[0]) == "bbcc");
}

TEST_CASE("fixed rows: a run takes the bytes it may, and one row at least") {
  const std::vector<FixedColumn> columns = {{nullptr, &kCount, 0, 2}, {nullptr, &kDepth, 0, 3}};

  CHECK(row_bytes_of(columns) == 5);
  CHECK(rows_at_once(5, 17) == 3);
  CHECK(rows_at_once(5, 4) == 1);
  CHECK(rows_at_once(0, 4) == 4);
}

TEST_CASE("fixed rows: the bytes of a row that nobody can hold do not wrap around") {
  const std::vector<FixedColumn> columns(3, {nullptr, &kDepth, 0, std::uint64_t{1} << 63});

  CHECK(row_bytes_of(columns) == kMissing);
}

// A set of one shard of three rows: its manifest, to be changed.
struct ThreeRows {
  TempDir dir;
  Manifest manifest;
  ManifestShard shard;

  ThreeRows() {
    const Schema schema{.fields = {kCount, kDepth}, .has_keys = false};
    (void)write_set(toy_rows_format, plain_samples(schema, 3, 0), dir / "out");
    manifest = read_manifest(dir / "out", [&](const ManifestShard& one) { shard = one; });
  }
  [[nodiscard]] Error refusal() const {
    return error_of([&] { const ShardReader reader(dir / "out", manifest, shard); });
  }
};

TEST_CASE("shard reader: rows that would begin or end outside of their file are damage") {
  ThreeRows set;
  CHECK_NOTHROW(ShardReader(set.dir / "out", set.manifest, set.shard));
  for (const std::uint64_t base : {std::uint64_t{17}, std::uint64_t{26}, ~std::uint64_t{0}}) {
    CAPTURE(base);
    set.shard.bases[1] = base;
    CHECK(set.refusal().code() == Code::damaged);
    CHECK(set.refusal().file() == set.dir / "out/dataset.json");
  }
  set.shard.bases[1] = 16;
  for (const std::uint64_t rows : {std::uint64_t{4}, ~std::uint64_t{0}, std::uint64_t{1} << 62}) {
    set.shard.digest.samples = rows;
    CHECK(set.refusal().code() == Code::damaged);
  }
}

TEST_CASE("shard reader: bases of more or fewer fields than the schema has are damage") {
  ThreeRows set;
  set.shard.bases.pop_back();
  CHECK(set.refusal().code() == Code::damaged);
  set.shard.bases = {16, 16, 16};
  CHECK(set.refusal().message().find("3 fields begin, but the schema has 2") != std::string::npos);
}

TEST_CASE("shard reader: values of no bytes lie anywhere in their file, however many they are") {
  const Schema schema{.fields = {{.name = "void",
                                  .kind = Kind::tensor,
                                  .dtype = DType::parse("<f4"),
                                  .shape = {0}}},
                      .has_keys = false};
  const TempDir dir;
  (void)write_set(toy_rows_format, plain_samples(schema, 5, 0), dir / "out");
  const ReadSet read = read_set(dir / "out");
  CHECK(read.samples.size() == 5);
  CHECK(read.rows[0][4].cells[0].place == FieldPlace{.offset = 16, .length = 0});
}

}  // namespace
}  // namespace shale
