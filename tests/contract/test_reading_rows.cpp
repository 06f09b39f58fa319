#include <filesystem>
#include <map>
#include <set>

#include <unistd.h>

#include "shale/base/path_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/rebuild_index.hpp"
#include "shale/loading/loader.hpp"
#include "shale/ops/inspect.hpp"

#include "tests/contract/contract_tools.hpp"

// What readers promise of every format whose rows are fixed, however it lays its columns.

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

Schema narrow_schema() {
  Schema schema;
  schema.fields = {field_of_column("x", DType::parse("<f4"), {3}),
                   field_of_column("y", DType::parse("<i4"), {}),
                   field_of_column("flag", DType::parse("|b1"), {}),
                   field_of_column("z", DType::parse("<f4"), {}),
                   field_of_column("big", DType::parse("|u1"), {300, 300})};
  return schema;
}

// Samples of any schema of fixed rows: every number says which row it is in.
SampleSet numbered(const Schema& schema, std::size_t rows) {
  SampleSet set{.schema = schema, .samples = {}, .memory = {}};
  for (std::size_t row = 0; row < rows; ++row) {
    Sample& sample = set.samples.emplace_back(Sample{std::to_string(row), {}});
    for (const Field& field : schema.fields) {
      if (field.kind == Kind::tensor) {
        std::string bytes(field.tensor_bytes(), static_cast<char>(row));
        sample.values.emplace_back(set.keep(std::move(bytes)));
      } else if (field.kind == Kind::integer) {
        const bool is_bool = field.dtype.descr() == "|b1";
        sample.values.emplace_back(static_cast<std::int64_t>(is_bool ? row % 2 : row * 1000));
      } else {
        sample.values.emplace_back(static_cast<double>(row) / 4);
      }
    }
  }
  return set;
}

void for_each_fixed_format(const std::function<void(const Format&)>& check) {
  std::size_t found = 0;
  for_each_format([&](const Format& format) {
    const auto has = [&](Kind kind) {
      return std::ranges::find(format.can.kinds, kind) != format.can.kinds.end();
    };
    if (!has(Kind::integer) || !has(Kind::real) || !has(Kind::tensor)) return;
    if (!format.layout(narrow_schema(), defaults(format)).rows.has_strides()) return;
    ++found;
    check(format);
  });
  CHECK(found > 0);
}

Loader loader_of(const std::string& path, bool verifies = true,
                 CachePolicy cache = CachePolicy::keep) {
  return Loader({.path = path,
                 .proof = verifies ? Proof::all : Proof::none,
                 .cache = cache,
                 .generator = "shale test"},
                {});
}

// What differs of rows [0, samples of the set) and of keys, in words.
std::string difference(const Loader& loader, const SampleSet& set) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t row = 0; row < set.samples.size(); ++row)
    rows.push_back(row * 7 % set.samples.size());
  const std::vector<LocatedSample> located = loader.locate(rows);
  std::map<std::pair<std::size_t, std::size_t>, std::string> tensors;
  std::vector<Fetch> fetches;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t f = 0; f < set.schema.fields.size(); ++f) {
      if (set.schema.fields[f].kind != Kind::tensor) continue;
      std::string& bytes = tensors[{i, f}];
      bytes.resize(Loader::bytes_of_value(located[i], f));
      fetches.push_back({&located[i], f, std::as_writable_bytes(std::span(bytes))});
    }
  }
  loader.fetch(fetches);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string here = "row " + std::to_string(rows[i]);
    if (loader.key_of(rows[i]) != std::to_string(rows[i])) return "key of " + here;
    for (std::size_t f = 0; f < set.schema.fields.size(); ++f) {
      const IndexCell& cell = located[i].place.cells[f];
      const Kind kind = set.schema.fields[f].kind;
      const Value found = kind == Kind::integer ? Value(cell.integer)
                          : kind == Kind::real  ? Value(cell.real)
                                                : Value(as_bytes(tensors[{i, f}]));
      if (!are_equal(found, set.samples[rows[i]].values[f]))
        return set.schema.fields[f].name + " of " + here;
    }
  }
  return "";
}

// Changes a byte of a value.
struct Damage {
  std::string file, name;
  std::uint64_t offset;
};
Damage damage(const std::string& dataset, std::size_t shard, std::size_t field, std::uint64_t row,
              std::uint64_t within) {
  const ReadSet read = read_set(dataset);
  const ShardLayout& layout = read.manifest.layout;
  const std::string& name =
      read.shards[shard].files[layout.part_file[layout.field_part[field]]].name;
  const std::uint64_t offset = read.rows[shard][row].cells[field].place.offset + within;
  std::string bytes = read_text(join_path(dataset, name));
  bytes[offset] = static_cast<char>(bytes[offset] ^ 0x42);
  write_file(join_path(dataset, name), bytes);
  return {join_path(dataset, name), name, offset};
}

TEST_CASE("fixed rows: narrow numbers and tensors come as they were written, in every way") {
  for_each_fixed_format([](const Format& format) {
    const TempDir dir("/var/tmp");
    const SampleSet set = numbered(narrow_schema(), 50);
    (void)write_set(format, set, dir / "out", {.limit_samples = 20});
    for (const CachePolicy cache : {CachePolicy::keep, CachePolicy::drop, CachePolicy::direct}) {
      for (const bool verifies : {false, true}) {
        CAPTURE(static_cast<int>(cache));
        CAPTURE(verifies);
        CHECK(difference(loader_of(dir / "out", verifies, cache), set) == "");
      }
    }
    CHECK(first_finding(verified(dir / "out", VerifyDepth::deep)) == "");
  });
}

TEST_CASE("fixed rows: a column comes out of all shards in its own dtype") {
  for_each_fixed_format([](const Format& format) {
    const TempDir dir;
    (void)write_set(format, numbered(narrow_schema(), 50), dir / "out", {.limit_samples = 20});
    for (const bool verifies : {false, true}) {
      const Loader loader = loader_of(dir / "out", verifies);
      const ColumnPlace column = loader.column("y");
      CHECK(column.descr == "<i4");
      std::vector<std::int32_t> part(33);
      loader.read_column(column, 11, std::as_writable_bytes(std::span(part)));
      for (std::size_t i = 0; i < part.size(); ++i)
        CHECK(part[i] == static_cast<std::int32_t>(1000 * (11 + i)));
      CHECK(loader.column("flag").descr == "|b1");
      CHECK(loader.column("z").descr == "<f4");
      const Error error = error_of([&] { (void)loader.column("big"); });
      CHECK(error.code() == Code::not_found);
      CHECK(error.hint().find("y, flag, z") != std::string::npos);
    }
  });
}

TEST_CASE("fixed rows: what is damaged is found by the block, with sample, file and offset") {
  for_each_fixed_format([](const Format& format) {
    const TempDir dir;
    // 90,000 bytes a row of 'big': 60 rows are five blocks and more.
    (void)write_set(format, numbered(narrow_schema(), 60), dir / "out");
    const Damage tensor = damage(dir / "out", 0, 4, 30, 12);
    const Loader loader = loader_of(dir / "out");
    const auto read_big = [&](std::uint64_t row) {
      const std::vector<LocatedSample> sample = loader.locate({{row}});
      std::vector<std::byte> bytes(Loader::bytes_of_value(sample[0], 4));
      const Fetch fetch{&sample[0], 4, bytes};
      loader.fetch({&fetch, 1});
      return bytes[0];
    };
    for (const std::uint64_t row : {0U, 10U, 50U, 59U})
      CHECK(read_big(row) == static_cast<std::byte>(row));
    const Error error = error_of([&] { (void)read_big(30); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == tensor.file);
    CHECK(error.offset() == tensor.offset - 12);
    CHECK(error.sample()->index == 30);
    CHECK(error.message().starts_with("block hash mismatch"));

    const VerifyReport report = verified(dir / "out");
    REQUIRE(report.findings == 1);
    const Finding& finding = report.first_findings[0];
    CHECK(finding.file == tensor.name);
    CHECK(finding.offset == tensor.offset / kBlockBytes * kBlockBytes);
    CHECK(finding.message.find("of 'big'") != std::string::npos);
  });
}

TEST_CASE("fixed rows: a number is proved like a tensor, and also a column of them") {
  for_each_fixed_format([](const Format& format) {
    const TempDir dir;
    (void)write_set(format, numbered(narrow_schema(), 50), dir / "out", {.limit_samples = 20});
    const Damage number = damage(dir / "out", 1, 1, 3, 0);
    const Loader loader = loader_of(dir / "out");
    const Error error = error_of([&] { (void)loader.locate({{23}}); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == number.file);
    CHECK(error.offset() == number.offset);
    CHECK(error.sample()->index == 23);
    CHECK(loader.locate({{1}}).size() == 1);  // another shard
    std::vector<std::int32_t> column(50);
    CHECK(error_of([&] {
            loader.read_column(loader.column("y"), 0, std::as_writable_bytes(std::span(column)));
          }).file() == number.file);
    // Without verify it is what stands there.
    CHECK(loader_of(dir / "out", false).locate({{23}})[0].place.cells[1].integer != 23'000);
  });
}

TEST_CASE("fixed rows: deep verifying joins the digests of large and of many rows") {
  for_each_fixed_format([](const Format& format) {
    const TempDir dir;
    Schema tall, wide;
    tall.fields = {field_of_column("n", DType::parse("<i2"), {})};
    wide.fields = {field_of_column("w", DType::parse("<f8"), {700, 300})};  // 1.6 MiB
    SampleSet many{.schema = tall, .samples = {}, .memory = {}};
    for (std::int64_t row = 0; row < 3000; ++row)
      many.samples.push_back({std::to_string(row), {Value(row)}});
    (void)write_set(format, many, dir / "tall");
    (void)write_set(format, numbered(wide, 7), dir / "wide", {.limit_samples = 5});
    for (const char* name : {"tall", "wide"})
      CHECK(first_finding(verified(dir / name, VerifyDepth::deep)) == "");
  });
}

TEST_CASE("fixed rows: rows are found by number and by key, which are one") {
  for_each_fixed_format([](const Format& format) {
    const TempDir dir;
    (void)write_set(format, numbered(narrow_schema(), 50), dir / "out", {.limit_samples = 20});
    const DatasetRequest request{.path = dir / "out"};
    const FoundSample found = find_key(request, "41", {});
    CHECK(found.row == 41);
    CHECK(found.shard_row == 1);
    CHECK(std::get<std::int64_t>(found.sample.values[1]) == 41'000);
    for (const char* key : {"041", "50", "-1", "", "4 1", "class/1.jpg"})
      CHECK(error_of([&] { (void)find_key(request, key, {}); }).code() == Code::not_found);
  });
}

TEST_CASE("fixed rows: there is no index to rebuild, but the block list is") {
  for_each_fixed_format([](const Format& format) {
    const TempDir dir;
    (void)write_set(format, numbered(narrow_schema(), 50), dir / "out", {.limit_samples = 20});
    const std::string list = dir / "out/shard-000001.blocks.npy", sound = read_text(list);
    fs::remove(list);

    const RebuildReport report = rebuild_index(dir / "out", {});

    CHECK(report.rebuilt == 1);
    CHECK(report.whole == 2);
    for (const RebuiltShard& shard : report.shards) CHECK(!shard.has_index);
    CHECK(report.shards[1].blocks_written);
    CHECK(!report.shards[1].index_written);
    CHECK(read_text(list) == sound);
  });
}

// Descriptors of this process that stand for files below a folder.
std::size_t open_files_in(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += fs::read_symlink(entry.path(), gone).string().starts_with(folder) ? 1 : 0;
  }
  return count;
}

TEST_CASE("fixed rows: shards of many files stay within the descriptors, and one may have more") {
  for_each_fixed_format([](const Format& format) {
    for (const std::size_t fields : {9U, 70U}) {
      const TempDir dir;
      Schema schema;
      for (std::size_t i = 0; i < fields; ++i)
        schema.fields.push_back(field_of_column("f" + std::to_string(i), DType::parse("<i4"), {}));
      const SampleSet set = numbered(schema, 40);
      (void)write_set(format, set, dir / "out", {.limit_samples = 3});
      const Loader loader = loader_of(dir / "out", false);
      CHECK(difference(loader, set) == "");
      CHECK(open_files_in(dir.path()) <= std::max<std::size_t>(kMostDescriptors, fields + 1));
    }
  });
}

}  // namespace
}  // namespace shale
