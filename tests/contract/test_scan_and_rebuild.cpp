#include <filesystem>

#include "shale/base/path_text.hpp"
#include "shale/datasets/rebuild_index.hpp"

#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

void drop_checksums(std::vector<IndexRow>& rows) {
  for (IndexRow& row : rows) {
    row.key.crc32c = 0;
    for (IndexCell& cell : row.cells) cell.place.crc32c = 0;
  }
}

// The rows as bytes: a NaN is equal to itself there. Without the rows of their elements, which come
// with an index.
std::vector<std::byte> bytes_of_rows(const std::vector<IndexRow>& rows, Manifest manifest) {
  manifest.layout.has_elements = false;
  const IndexColumns columns(manifest.schema, manifest.layout);
  ByteWriter bytes;
  for (const IndexRow& row : rows) columns.encode(row, bytes);
  return bytes.take();
}

// Where rows are fixed there is no index, and nothing to give.
void check_rows(const Scanned& scanned, const ReadSet& read, std::size_t shard) {
  CHECK(scanned.findings.empty());
  if (read.manifest.layout.rows.has_strides()) {
    CHECK(scanned.rows.empty());
  } else {
    CHECK(bytes_of_rows(scanned.rows, read.manifest) ==
          bytes_of_rows(read.rows[shard], read.manifest));
  }
}

TEST_CASE("scan: gives every row of the index that the writer made, with its checksums") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, odd_samples(schema), dir / "out", {.limit_samples = 5});
    const ReadSet read = read_set(dir / "out");
    for (std::size_t i = 0; i < read.shards.size(); ++i) {
      const Scanned scanned = scan_shard(format, dir / "out", read.manifest, read.shards[i], true);
      check_rows(scanned, read, i);
    }
  });
}

TEST_CASE("scan: without payload gives the same rows without checksums") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, odd_samples(schema), dir / "out", {.limit_samples = 5});
    ReadSet read = read_set(dir / "out");
    for (std::size_t i = 0; i < read.shards.size(); ++i) {
      Scanned scanned = scan_shard(format, dir / "out", read.manifest, read.shards[i], false);
      drop_checksums(scanned.rows);
      drop_checksums(read.rows[i]);
      check_rows(scanned, read, i);
    }
  });
}

TEST_CASE("scan: a list's extent splits into the elements that were written") {
  for_each_format([](const Format& format) {
    const bool has_lists =
        std::ranges::find(format.can.kinds, Kind::list) != format.can.kinds.end();
    if (format.split_list != nullptr) REQUIRE(has_lists);
    if (format.split_list == nullptr) return;
    CHECK(format.split_list({}, 0).empty());
    CHECK(error_of([&] { (void)format.split_list({}, 1); }).code() == Code::damaged);
    CHECK(error_of([&] {
            (void)format.split_list(as_bytes("\xff\xff\xff\xff\xff\xff"), 1);
          }).code() == Code::damaged);
  });
}

TEST_CASE("rebuild: lost and damaged indexes and block lists come back byte for byte") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const bool has_index = !has_columns(format, schema);
    (void)write_set(format, odd_samples(schema), dir / "out", {.limit_samples = 3});
    std::filesystem::copy(dir / "out", dir / "whole", std::filesystem::copy_options::recursive);
    std::filesystem::remove(dir / "out/shard-000001.blocks.npy");
    write_file(dir / "out/shard-000002.blocks.npy", "");
    if (has_index) {
      std::filesystem::remove(dir / "out/shard-000000.index.npy");
      write_file(dir / "out/shard-000002.index.npy", "damaged");
    }

    const RebuildReport report = rebuild_index(dir / "out", {});

    CHECK(report.rebuilt == (has_index ? 3U : 2U));
    CHECK(report.whole == (has_index ? 1U : 2U));
    CHECK(report.failed == 0);
    CHECK(differing_files(dir / "whole", dir / "out").empty());
  });
}

TEST_CASE("rebuild: a shard that has changed gets no list that would vouch for it") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 7, 60), dir / "out");
    const ReadSet read = read_set(dir / "out");
    const std::string list = dir / (has_columns(format, schema) ? "out/shard-000000.blocks.npy"
                                                                : "out/shard-000000.index.npy");
    for (const ManifestFile& file : read.shards[0].files) {
      std::filesystem::remove(list);
      const std::string path = join_path(dir / "out", file.name), sound = read_text(path);
      std::string changed = sound;
      changed[changed.size() / 2] ^= 1;
      write_file(path, changed);
      const RebuildReport report = rebuild_index(dir / "out", {});
      CHECK(report.failed == 1);
      CHECK(report.shards[0].fault.find(file.name) != std::string::npos);
      CHECK(!std::filesystem::exists(list));
      write_file(path, sound);
    }
  });
}

}  // namespace
}  // namespace shale
