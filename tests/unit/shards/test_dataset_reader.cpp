#include <filesystem>

#include <doctest/doctest.h>

#include "shale/base/path_text.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

// A set of one shard, open.
struct OpenSet {
  TempDir dir;
  SampleSet set = plain_samples(schema_of(toy_format.can.kinds), 3, 100);
  Manifest manifest;
  std::vector<ManifestShard> shards;

  OpenSet() {
    (void)write_set(toy_format, set, dir / "out");
    manifest =
        read_manifest(dir / "out", [&](const ManifestShard& shard) { shards.push_back(shard); });
  }
  [[nodiscard]] ShardReader reader() const { return {dir / "out", manifest, shards[0]}; }
};

TEST_CASE("shard reader: a file of another size than the manifest's is damage, by its name") {
  for (const char* name :
       {"shard-000000.head.toy", "shard-000000.body.toy", "shard-000000.index.npy"}) {
    const OpenSet open;
    const std::string path = join_path(open.dir / "out", name);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    const Error error = error_of([&] { (void)open.reader(); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == path);
  }
}

TEST_CASE("shard reader: a file that is not there is damage, by its name") {
  const OpenSet open;
  std::filesystem::remove(open.dir / "out/shard-000000.body.toy");
  const Error error = error_of([&] { (void)open.reader(); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == open.dir / "out/shard-000000.body.toy");
}

TEST_CASE("shard reader: a shard with another number of files than its layout is damage") {
  OpenSet open;
  open.shards[0].files.pop_back();
  CHECK(error_of([&] { (void)open.reader(); }).code() == Code::damaged);
}

TEST_CASE("loaded sample: stays what it is when it is moved") {
  const OpenSet open;
  const ShardReader reader = open.reader();
  LoadedSample loaded = load_sample(reader, reader.open_index().row(1), open.set.schema, toy_format,
                                    {.bytes = 1 << 20});
  const LoadedSample moved = std::move(loaded);
  CHECK(digest_of(moved.sample, open.set.schema) ==
        digest_of(open.set.samples[1], open.set.schema));
}

TEST_CASE("loaded sample: a place outside the file is damage and takes no memory") {
  const OpenSet open;
  const ShardReader reader = open.reader();
  const std::uint64_t size = reader.file_of_field(0).size();
  struct Place {
    std::uint64_t offset, length;
  };
  for (const Place& place :
       {Place{size, 1}, Place{size + 1, 0}, Place{0, size + 1}, Place{kMissing - 1, 8}}) {
    CAPTURE(place.offset);
    IndexRow row = reader.open_index().row(0);
    row.cells[0].place.offset = place.offset;
    row.cells[0].place.length = place.length;
    const Error error = error_of(
        [&] { (void)load_sample(reader, row, open.set.schema, toy_format, {.bytes = 1 << 20}); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == reader.file_of_field(0).path());
  }
}

TEST_CASE(
    "loaded sample: one that is larger than the limit is refused with both numbers, before memory "
    "is taken") {
  const OpenSet open;
  const ShardReader reader = open.reader();
  const IndexRow row = reader.open_index().row(0);
  std::uint64_t bytes = row.key.length;
  for (const IndexCell& cell : row.cells) bytes += cell.place.length;
  REQUIRE(bytes > 1);
  const Error error = error_of(
      [&] { (void)load_sample(reader, row, open.set.schema, toy_format, {.bytes = bytes - 1}); });
  CHECK(error.code() == Code::limit);
  CHECK(error.message().find(std::to_string(bytes)) != std::string::npos);
  CHECK(error.message().find(std::to_string(bytes - 1)) != std::string::npos);
}

TEST_CASE(
    "loaded sample: bytes that have not the checksum of the index are damage, with both "
    "checksums") {
  const OpenSet open;
  const ShardReader reader = open.reader();
  IndexRow row = reader.open_index().row(0);
  row.cells[0].place.crc32c ^= 1;
  const Error error = error_of(
      [&] { (void)load_sample(reader, row, open.set.schema, toy_format, {.bytes = 1 << 20}); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.offset() == row.cells[0].place.offset);
  CHECK(error.message().find(fmt::format("expected 0x{:08x}", row.cells[0].place.crc32c)) !=
        std::string::npos);
}

TEST_CASE("loaded sample: a list of another count is damage") {
  const OpenSet open;
  const ShardReader reader = open.reader();
  IndexRow row = reader.open_index().row(2);
  const std::size_t frames = *open.set.schema.find("frames");
  ++row.cells[frames].place.count;
  CHECK(error_of([&] {
          (void)load_sample(reader, row, open.set.schema, toy_format, {.bytes = 1 << 20});
        }).code() == Code::damaged);
}

}  // namespace
}  // namespace shale
