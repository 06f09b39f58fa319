#include <doctest/doctest.h>

#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

SampleSet toy_samples(std::size_t count) {
  return plain_samples(schema_of(toy_format.can.kinds), count, 100);
}

TEST_CASE("shard set writer: the summary adds up the shards") {
  const TempDir dir;
  const SampleSet set = toy_samples(10);
  const Manifest manifest = write_set(toy_format, set, dir / "out", {.limit_samples = 4});
  DatasetDigest digest;
  std::uint64_t payload = 0, shards = 0;
  (void)read_manifest(dir / "out", [&](const ManifestShard& shard) {
    digest.append(shard.digest);
    payload += shard.payload_bytes;
    CHECK(shard.name == shard_name(shards++));
  });

  CHECK(manifest.digest == digest);
  CHECK(manifest.payload_bytes == payload);
  CHECK(manifest.shard_count == 3);
}

TEST_CASE("shard set writer: nothing comes to its place before the set is complete") {
  const TempDir dir;
  const SampleSet set = toy_samples(3);
  SetInProgress progress(toy_format, set.schema, dir / "out", {.limit_samples = 2});
  for (const Sample& sample : set.samples) progress.append(sample);
  CHECK(std::filesystem::exists(dir / "out/.shale/new/shard-000000.head.toy"));
  CHECK(!std::filesystem::exists(dir / "out/shard-000000.head.toy"));
  (void)progress.finish();
  CHECK(std::filesystem::exists(dir / "out/shard-000001.head.toy"));
  CHECK(!std::filesystem::exists(dir / "out/.shale"));
}

TEST_CASE(
    "shard set writer: shards that wait for others are kept when the last record is refused") {
  const TempDir dir;
  SampleSet set = toy_samples(5);
  set.samples[4].values[0] = set.keep(std::string(20'000, 'x'));
  SetInProgress progress(toy_format, set.schema, dir / "out",
                         {.limit_bytes = 10'000, .limit_samples = 2});
  for (std::size_t i = 0; i < 4; ++i) progress.append(set.samples[i]);
  CHECK(error_of([&] { progress.append(set.samples[4]); }).code() == Code::limit);
  CHECK(progress.finish().shard_count == 2);
}

TEST_CASE("shard set writer: places that come late and relative to a column are made absolute") {
  const TempDir dir;
  const SampleSet set = toy_samples(5);
  (void)write_set(toy_format, set, dir / "out");
  const std::string body = read_text(dir / "out/shard-000000.body.toy");
  const std::vector<IndexRow> rows = read_set(dir / "out").rows[0];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FieldPlace& place = rows[i].cells[0].place;
    CHECK(body.substr(place.offset, place.length) ==
          as_text(std::get<Bytes>(set.samples[i].values[0])));
  }
}

TEST_CASE("shard set writer: keys that a source promised to be unique are not checked") {
  const TempDir dir;
  SampleSet set = toy_samples(2);
  set.samples[1].key = set.samples[0].key;
  CHECK(write_set(toy_format, set, dir / "out", {.keys_are_unique = true}).digest.samples == 2);
}

TEST_CASE("shard set writer: a duplicate key is found among very many") {
  const TempDir dir;
  SampleSet set = plain_samples({.fields = {{"label", Kind::integer, {}, {}}}}, 150'000, 0);
  set.samples[140'000].key = set.samples[3].key;
  const Error error = error_of([&] { (void)write_set(toy_format, set, dir / "out"); });
  CHECK(error.code() == Code::schema);
  CHECK(error.sample()->key == set.samples[3].key);
}

// A toy whose sizer promises less than its files take.
const Format& understating_toy() {
  static const Format format = [] {
    Format row = toy_format;
    row.create_sizer = [](const Schema& schema, const OptionSet& options) {
      return make_sum_sizer(toy_format.layout(schema, options), {0, 0}, {0, 0});
    };
    return row;
  }();
  return format;
}

TEST_CASE(
    "shard set writer: a format that writes more than it announced is a bug, not a shard too "
    "large") {
  const TempDir dir;
  SampleSet set = plain_samples({.fields = {{"image", Kind::bytes, {}, {}}}}, 1, 0);
  set.samples[0].values[0] = set.keep(std::string(2000, 'x'));
  const Error error = error_of(
      [&] { (void)write_set(understating_toy(), set, dir / "out", {.limit_bytes = 2005}); });
  CHECK(error.code() == Code::bug);
  CHECK(fault_of_unfinished(dir / "out").empty());
}

// A toy that never tells where the last record lies.
class ForgetfulWriter final : public ShardWriter {
 public:
  std::span<const std::uint64_t> append(const Record&) override { return {}; }
  ClosedShard close() override { return {}; }
};

TEST_CASE("shard set writer: a format that leaves samples unplaced is a bug") {
  const TempDir dir;
  Format forgetful = toy_format;
  forgetful.create_shard = [](std::span<OutputFile>, const Schema&,
                              const OptionSet&) -> std::unique_ptr<ShardWriter> {
    return std::make_unique<ForgetfulWriter>();
  };
  CHECK(error_of([&] { (void)write_set(forgetful, toy_samples(2), dir / "out"); }).code() ==
        Code::bug);
}

// A toy that tells where records lie that it was not given.
class InventiveWriter final : public ShardWriter {
 public:
  explicit InventiveWriter(std::size_t parts) : places_(2 * parts) {}
  std::span<const std::uint64_t> append(const Record&) override { return places_; }
  ClosedShard close() override { return {}; }

 private:
  std::vector<std::uint64_t> places_;
};

TEST_CASE("shard set writer: a format that places samples it was not given is a bug") {
  const TempDir dir;
  Format inventive = toy_format;
  inventive.create_shard = [](std::span<OutputFile>, const Schema& schema,
                              const OptionSet& options) -> std::unique_ptr<ShardWriter> {
    return std::make_unique<InventiveWriter>(toy_format.layout(schema, options).part_file.size());
  };
  CHECK(error_of([&] { (void)write_set(inventive, toy_samples(1), dir / "out"); }).code() ==
        Code::bug);
}

TEST_CASE("shard set writer: nothing may follow finish()") {
  const TempDir dir;
  const SampleSet set = toy_samples(2);
  SetInProgress progress(toy_format, set.schema, dir / "out");
  progress.append(set.samples[0]);
  (void)progress.writer().finish();
  CHECK(error_of([&] { progress.append(set.samples[1]); }).code() == Code::bug);
}

TEST_CASE("shard set writer: its buffers take less than a budget of 16 MiB leaves for samples") {
  for (const std::uint64_t mib : {16U, 64U, 256U, 4096U}) {
    CHECK(ShardSetWriter::buffer_bytes(mib << 20) < (mib << 20) / 2);
  }
}

// Rows a shard under these limits, of one tensor of so many bytes; the toy's files begin with 16.
std::optional<std::uint64_t> rows_a_shard(std::uint64_t row_bytes, const SetOptions& options) {
  const Schema schema{.fields = {{"x", Kind::tensor, DType::parse("|u1"), {row_bytes}}},
                      .has_keys = false};
  const TempDir dir;
  SetInProgress progress(toy_rows_format, schema, dir / "out", options);
  return progress.writer().rows_a_shard();
}

TEST_CASE("shard set writer: rows a shard are those that fit, exact at the border") {
  CHECK(rows_a_shard(100, {.limit_bytes = 1016}) == 10);
  CHECK(rows_a_shard(100, {.limit_bytes = 1015}) == 9);
  CHECK(rows_a_shard(100, {.limit_bytes = 1115}) == 10);
  CHECK(rows_a_shard(300, {.limit_bytes = 315}) == 0);
  CHECK(rows_a_shard(300, {.limit_bytes = 316}) == 1);
  CHECK(rows_a_shard(1, {.limit_bytes = std::uint64_t{1} << 50}) == (std::uint64_t{1} << 50) - 16);
}

TEST_CASE("shard set writer: rows a shard keep within the limit of samples, and of block lists") {
  CHECK(rows_a_shard(100, {.limit_bytes = 1016, .limit_samples = 9}) == 9);
  CHECK(rows_a_shard(100, {.limit_bytes = 1016, .limit_samples = 11}) == 10);
  // The list of one block is an array of 128 and 16 bytes: under less no shard fits.
  CHECK(rows_a_shard(1, {.limit_bytes = 143}) == 0);
  CHECK(rows_a_shard(1, {.limit_bytes = 144}) == 128);
}

TEST_CASE("shard set writer: rows of no bytes fill a shard up to the limit of samples only") {
  CHECK(rows_a_shard(0, {.limit_samples = 12}) == 12);
  CHECK(rows_a_shard(0, {}) == std::uint64_t{1} << 62);
}

TEST_CASE("shard set writer: formats with an index have no number of rows a shard") {
  const TempDir dir;
  SetInProgress progress(toy_format, toy_samples(1).schema, dir / "out");
  CHECK(progress.writer().rows_a_shard() == std::nullopt);
}

}  // namespace
}  // namespace shale
