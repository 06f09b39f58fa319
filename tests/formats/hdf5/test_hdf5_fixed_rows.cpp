#include <filesystem>
#include <random>

#include <doctest/doctest.h>

#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/trees/hdf5_metadata.hpp"

#include "formats/hdf5/hdf5_columns.hpp"
#include "tests/formats/hdf5/hdf5_shard_tools.hpp"
#include "tests/support/sampled_walk.hpp"

namespace shale {
namespace {

using namespace test;

Schema schema_of(std::vector<Field> fields) {
  return {.fields = std::move(fields), .has_keys = false};
}

Field column(std::string name, std::string_view descr, std::vector<std::uint64_t> shape = {}) {
  return field_of_column(std::move(name), DType::parse(descr), std::move(shape));
}

// Two columns for each element type: "0" of one axis, "0t" of four; and one of no bytes.
Schema every_type() {
  Schema schema = schema_of({column("hollow", "<f4", {0, 2})});
  for (std::size_t i = 0; i < std::size(kHdf5Descrs); ++i) {
    schema.fields.push_back(column(std::to_string(i), kHdf5Descrs[i]));
    schema.fields.push_back(column(std::to_string(i) + "t", kHdf5Descrs[i], {3, 1, 2}));
  }
  return schema;
}

// Rows of any bytes, a string a column.
std::vector<std::string> random_columns(const Schema& schema, std::uint64_t rows,
                                        std::mt19937_64& random) {
  std::vector<std::string> columns;
  for (const Field& field : schema.fields) {
    std::string& values = columns.emplace_back(rows * fixed_bytes_of(field).value(), '\0');
    const bool is_bool = dtype_of_column(field).descr() == "|b1";
    for (char& byte : values) byte = static_cast<char>(random() % (is_bool ? 2 : 256));
  }
  return columns;
}

Record run_of(const std::vector<std::string>& columns, std::uint64_t all, std::uint64_t first,
              std::uint64_t rows) {
  Record run;
  run.digest.samples = rows;
  for (const std::string& values : columns) {
    const std::uint64_t stride = values.size() / all;
    run.parts.emplace_back().append_view(as_bytes(values).subspan(first * stride, rows * stride));
  }
  return run;
}

// The sides of a dataset as the library sees them.
std::vector<std::uint64_t> sides_in_library(const Hdf5Handle& dataset) {
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose);
  std::vector<hsize_t> sides(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.id())));
  (void)H5Sget_simple_extent_dims(space.id(), sides.data(), nullptr);
  return {sides.begin(), sides.end()};
}

TEST_CASE("hdf5 fixed rows: the library reads every column, of every type, where it was said") {
  std::mt19937_64 random(20261122);
  const Schema schema = every_type();
  for (const std::uint64_t rows : {1U, 2U, 100U}) {
    CAPTURE(rows);
    const TempDir dir;
    const std::vector<std::string> columns = random_columns(schema, rows, random);
    const std::vector<std::uint64_t> bases =
        write_fixed_hdf5(dir / "a.h5", schema, {run_of(columns, rows, 0, rows)});

    const auto lock = lock_hdf5();
    const Hdf5Handle file = open_in_library(dir / "a.h5");
    H5G_info_t group{};
    REQUIRE(H5Gget_info(file.id(), &group) >= 0);
    CHECK(group.nlinks == schema.fields.size());
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      CAPTURE(field.name);
      const Hdf5Handle dataset = dataset_in_library(file, field.name);
      const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
      const Hdf5Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose);
      std::vector<std::uint64_t> sides = field.shape;
      sides.insert(sides.begin(), rows);
      CHECK(sides_in_library(dataset) == sides);
      CHECK(described_by_library(type.id()) == dtype_of_column(field).descr());
      CHECK(H5Pget_layout(properties.id()) == H5D_CONTIGUOUS);
      CHECK(values_in_library(file, field.name) == columns[i]);
      if (columns[i].empty()) continue;
      CHECK(H5Dget_offset(dataset.id()) == bases[i]);
      CHECK(bases[i] % kColumnAlignment == 0);
    }
  }
}

TEST_CASE("hdf5 fixed rows: numbers are stored as their dtype") {
  const TempDir dir;
  const Schema schema =
      schema_of({column("label", "<i4"), column("is_cat", "|b1"), column("score", "<f4"),
                 column("id", "<i8"), column("at", "<f8"), column("level", "<u2")});
  const Sample first{
      "0",
      {std::int64_t{-3}, std::int64_t{1}, 0.5, std::int64_t{1} << 40, 0.1, std::int64_t{65'535}}},
      second{"1",
             {std::int64_t{7}, std::int64_t{0}, -2.0, std::int64_t{-1}, 1e300, std::int64_t{0}}};
  (void)write_fixed_hdf5(dir / "a.h5", schema,
                         {fixed_row(schema, first), fixed_row(schema, second)});

  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  CHECK(values_in_library(file, "label") == raw<std::int32_t>({-3, 7}));
  CHECK(values_in_library(file, "is_cat") == raw<std::int8_t>({1, 0}));
  CHECK(values_in_library(file, "score") == raw<float>({0.5F, -2.0F}));
  CHECK(values_in_library(file, "id") == raw<std::int64_t>({std::int64_t{1} << 40, -1}));
  CHECK(values_in_library(file, "at") == raw<double>({0.1, 1e300}));
  CHECK(values_in_library(file, "level") == raw<std::uint16_t>({65'535, 0}));
}

TEST_CASE("hdf5 fixed rows: however they are cut into runs, the file is the same") {
  constexpr unsigned kSeed = 7;
  CAPTURE(kSeed);
  std::mt19937_64 random(kSeed);
  const Schema schema =
      schema_of({column("y", "<i4"), column("x", "<f4", {50, 9}), column("z", "|u1", {300})});
  constexpr std::uint64_t kRows = 700;  // more than a piece of the spill
  const std::vector<std::string> columns = random_columns(schema, kRows, random);
  const TempDir dir;
  (void)write_fixed_hdf5(dir / "whole.h5", schema, {run_of(columns, kRows, 0, kRows)});
  const std::string whole = read_text(dir / "whole.h5");
  for (const std::uint64_t longest : {1U, 2U, 90U, 600U}) {
    CAPTURE(longest);
    std::vector<Record> runs;
    for (std::uint64_t row = 0; row < kRows;) {
      const std::uint64_t rows = std::min(1 + random() % longest, kRows - row);
      runs.push_back(run_of(columns, kRows, row, rows));
      row += rows;
    }
    const std::string path = dir / fmt::format("runs of {}.h5", longest);
    (void)write_fixed_hdf5(path, schema, runs);
    CHECK((read_text(path) == whole));
  }
}

TEST_CASE("hdf5 fixed rows: the longest rows are those written once, the first of equal ones") {
  struct Row {
    std::vector<Field> fields;
    std::size_t streamed;
  };
  const Row rows[] = {
      {{column("y", "<i8"), column("x", "|u1", {9}), column("z", "<f4")}, 1},
      {{column("a", "<f4", {2}), column("b", "<i8"), column("c", "<u2", {2, 2})}, 0},
      {{column("none", "<f4", {0}), column("y", "|b1")}, 1},
      {{column("none", "<f4", {0})}, 0},
  };
  for (const Row& row : rows) {
    CHECK(plan_columns(schema_of(row.fields)).streamed == row.streamed);
  }
}

TEST_CASE("hdf5 fixed rows: the sizer says the size of the closed file, to the byte") {
  const Schema schemas[] = {
      every_type(), schema_of({column("y", "|b1")}), schema_of({column("none", "<f4", {0})}),
      schema_of({column("x", "<u2", {31}), column("y", "<i4"), column("z", "<c16", {3})})};
  std::mt19937_64 random(3);
  for (const Schema& schema : schemas) {
    for (const std::uint64_t rows : {1U, 2U, 31U, 32U, 33U, 64U, 65U, 1000U}) {
      CAPTURE(rows);
      const TempDir dir;
      const std::vector<std::string> columns = random_columns(schema, rows, random);
      std::vector<std::uint64_t> all, less_one, one;
      for (const std::string& values : columns) {
        all.push_back(values.size());
        one.push_back(values.size() / rows);
        less_one.push_back(values.size() - one.back());
      }
      const auto sizer = hdf5_format.create_sizer(schema, kHdf5Options);
      const std::uint64_t at_once = sizer->size_with(all, rows)[0];
      sizer->add(less_one, rows - 1);
      CHECK(sizer->size_with(one, 1)[0] == at_once);
      (void)write_fixed_hdf5(dir / "a.h5", schema, {run_of(columns, rows, 0, rows)});
      CHECK(InputFile(dir / "a.h5").size() == at_once);
    }
  }
}

TEST_CASE("hdf5 fixed rows: a part a field and none for the key") {
  const Schema schema = schema_of({column("x", "<f4", {2}), column("y", "<i4")});
  const ShardLayout layout = hdf5_format.layout(schema, kHdf5Options);
  CHECK(layout.rows.has_strides());
  CHECK_FALSE(layout.has_keys);
  CHECK(layout.part_file == std::vector<std::uint32_t>{0, 0});
  CHECK(layout.field_part == std::vector<std::uint32_t>{0, 1});

  Schema with_keys = schema, with_text = schema;
  with_keys.has_keys = true;
  with_text.fields.push_back({"caption", Kind::text});
  for (const Schema& other : {with_keys, with_text}) {
    const ShardLayout keyed = hdf5_format.layout(other, kHdf5Options);
    CHECK_FALSE(keyed.rows.has_strides());
    CHECK(keyed.has_keys);
    CHECK(keyed.part_file.size() == 1 + other.fields.size());
    CHECK(keyed.field_part[1] == 2);
  }
}

TEST_CASE("hdf5 fixed rows: elements that HDF5 shards do not hold are refused by name") {
  for (const std::string_view descr : {"<f16", "<c32", "<M8[s]", "|S3", "<U2", "|V4"}) {
    CAPTURE(descr);
    for (const bool has_keys : {false, true}) {
      const Schema schema{.fields = {column("odd", descr)}, .has_keys = has_keys};
      const Error error = error_of([&] { (void)hdf5_format.layout(schema, kHdf5Options); });
      CHECK(error.code() == Code::unsupported);
      CHECK(error.message().find(fmt::format("field 'odd' is a tensor of {}", dtype_text(descr))) ==
            0);
    }
  }
}

TEST_CASE("hdf5 encoder: a number that its dtype does not hold is refused by field and sample") {
  for (const bool has_keys : {false, true}) {
    const Schema schema{.fields = {column("label", "|u1")}, .has_keys = has_keys};
    const Sample sample{"17", {std::int64_t{256}}};
    const Error error = error_of([&] { (void)hdf5_format.encode(sample, schema, kHdf5Options); });
    CHECK(error.code() == Code::schema);
    CHECK(error.message().find("'label' is 256") != std::string::npos);
    REQUIRE(error.sample());
    CHECK(error.sample()->key == "17");
  }
}

// A small shard of fixed rows, to be damaged.
struct SmallShard {
  Schema schema = schema_of({column("x", "<u2", {2, 3}), column("is_odd", "|b1"),
                             column("none", "<f4", {0}), column("y", "<i4")});
  std::uint64_t rows = 5;
  TempDir dir;
  std::vector<std::uint64_t> bases;
  std::string bytes;

  SmallShard() {
    std::mt19937_64 random(11);
    const std::vector<std::string> columns = random_columns(schema, rows, random);
    bases = write_fixed_hdf5(dir / "a.h5", schema, {run_of(columns, rows, 0, rows)});
    bytes = read_text(dir / "a.h5");
  }

  std::vector<Finding> findings_of(const std::string& content) const {
    write_file(dir / "b.h5", content);
    const ScannedHdf5 scanned = scan_hdf5(dir / "b.h5", schema, true, rows, bases);
    CHECK(scanned.rows.empty());
    return scanned.findings;
  }
};

TEST_CASE("hdf5 fixed scan: a sound shard gives neither findings nor rows") {
  const SmallShard shard;
  CHECK(shard.findings_of(shard.bytes).empty());
}

TEST_CASE("hdf5 fixed scan: every flipped bit in front of the rows is found, and where it is") {
  const SmallShard shard;
  for (std::size_t bit = 0; bit < 8 * shard.bases[0]; bit += test::kIsInstrumented ? 7 : 1) {
    std::string bytes = shard.bytes;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const std::vector<Finding> findings = shard.findings_of(bytes);
    if (findings.size() != 1 || findings[0].offset != bit / 8) FAIL_CHECK("bit ", bit);
  }
}

TEST_CASE("hdf5 fixed scan: every cut is found, and every byte too many") {
  const SmallShard shard;
  for (std::size_t size = 0; size < shard.bytes.size(); size += test::kIsInstrumented ? 7 : 1) {
    if (shard.findings_of(shard.bytes.substr(0, size)).empty()) FAIL_CHECK("cut to ", size);
  }
  const std::vector<Finding> findings = shard.findings_of(shard.bytes + '\0');
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].message == "the file size does not match its rows");
}

TEST_CASE("hdf5 fixed scan: a manifest of other rows or other places is found, without a crash") {
  SmallShard shard;
  const std::vector<std::uint64_t> sound = shard.bases;
  for (const std::uint64_t rows : {0U, 4U, 6U}) {
    shard.rows = rows;
    CHECK_FALSE(shard.findings_of(shard.bytes).empty());
  }
  for (const std::uint64_t rows : {~std::uint64_t{0}, std::uint64_t{1} << 61}) {
    shard.rows = rows;
    const std::vector<Finding> findings = shard.findings_of(shard.bytes);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].message == "the file is too short for its rows");
    CHECK(findings[0].field == "x");
  }
  shard.rows = 5;
  for (std::size_t i = 0; i < sound.size(); ++i) {
    shard.bases = sound;
    ++shard.bases[i];
    const std::vector<Finding> findings = shard.findings_of(shard.bytes);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].field == shard.schema.fields[i].name);
    CHECK(findings[0].expected == std::to_string(sound[i] + 1));
  }
  shard.bases.clear();
  CHECK(shard.findings_of(shard.bytes).size() == 1);
}

// With keys, and so with index rows: numbers of other types than int64 and float64.
const Schema kTyped{.fields = {{"image", Kind::bytes, {}, {}},
                               column("label", "<i2"),
                               column("is_cat", "|b1"),
                               column("score", "<f4"),
                               column("level", "<u4")}};

std::vector<Sample> typed_samples() {
  return {{"a", {as_bytes("one"), std::int64_t{-300}, std::int64_t{1}, 0.25, std::int64_t{1}}},
          {"b", {as_bytes("two"), std::int64_t{300}, std::int64_t{0}, -1e30F, 4'294'967'295}}};
}

TEST_CASE("hdf5 scan: numbers are stored as the dtype of their field, and read back") {
  const TempDir dir;
  const std::vector<IndexRow> rows = write_hdf5_shard(dir / "a.h5", kTyped, typed_samples());
  const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", kTyped);
  CHECK(scanned.findings.empty());
  CHECK(scanned.rows == rows);
  CHECK(scanned.rows[0].cells[1].integer == -300);

  const auto lock = lock_hdf5();
  const Hdf5Handle file = open_in_library(dir / "a.h5");
  CHECK(values_in_library(file, "label") == raw<std::int16_t>({-300, 300}));
  CHECK(values_in_library(file, "is_cat") == raw<std::int8_t>({1, 0}));
  CHECK(values_in_library(file, "score") == raw<float>({0.25F, -1e30F}));
  CHECK(values_in_library(file, "level") == raw<std::uint32_t>({1, 4'294'967'295}));
  const Hdf5Handle type(H5Dget_type(dataset_in_library(file, "is_cat").id()), H5Tclose);
  CHECK(described_by_library(type.id()) == "|b1");
}

TEST_CASE("hdf5 scan: a bool that is neither true nor false is named by row, sample and byte") {
  const TempDir dir;
  (void)write_hdf5_shard(dir / "a.h5", kTyped, typed_samples());
  std::uint64_t place = 0;
  {
    const auto lock = lock_hdf5();
    place = H5Dget_offset(dataset_in_library(open_in_library(dir / "a.h5"), "is_cat").id()) + 1;
  }
  std::string bytes = read_text(dir / "a.h5");
  bytes[place] = 2;
  write_file(dir / "a.h5", bytes);

  const ScannedHdf5 scanned = scan_hdf5(dir / "a.h5", kTyped);

  CHECK(scanned.rows.size() == 2);
  REQUIRE(scanned.findings.size() == 1);
  CHECK(scanned.findings[0].message == "bool of field 'is_cat' is 2, neither 0 nor 1");
  CHECK(scanned.findings[0].offset == place);
  CHECK(scanned.findings[0].row == 1);
  CHECK(scanned.findings[0].sample->key == "b");
}

std::string golden_path(std::string_view name) {
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  return (root / "formats/hdf5/golden/rows" / name).string();
}

// Never to be changed.
void write_golden(const std::string& fixed, const std::string& typed) {
  const Schema schema =
      schema_of({column("y", "<i4"), column("x", "<f4", {2, 3}), column("is_odd", "|b1"),
                 column("z", "<c8"), column("half", "<f2"), column("none", "|u1", {0})});
  std::vector<std::string> columns(schema.fields.size());
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const std::uint64_t bytes = 7 * fixed_bytes_of(schema.fields[i]).value();
    for (std::uint64_t at = 0; at < bytes; ++at)
      columns[i] += static_cast<char>(i == 2 ? at % 2 : (at * 37 + i) % 251);
  }
  (void)write_fixed_hdf5(fixed, schema, {run_of(columns, 7, 0, 7)});
  (void)write_hdf5_shard(typed, kTyped, typed_samples());
}

TEST_CASE("hdf5 golden: rows of dtypes give the same bytes, today as on the day they were made") {
  const TempDir dir;
  write_golden(dir / "fixed.h5", dir / "typed.h5");
  for (const std::string_view name : {"fixed.h5", "typed.h5"}) {
    CAPTURE(name);
    CHECK((read_text(dir / std::string(name)) == read_text(golden_path(name))));
  }
}

// Not a test: format_tests --no-skip -tc="hdf5 golden: rows written anew"
TEST_CASE("hdf5 golden: rows written anew" * doctest::skip()) {
  write_golden(golden_path("fixed.h5"), golden_path("typed.h5"));
}

}  // namespace
}  // namespace shale
