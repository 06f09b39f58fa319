#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "formats/lmdb/lmdb_format.hpp"
#include "tests/formats/lmdb/lmdb_scan_tools.hpp"
#include "tests/support/sample_sets.hpp"

// What liblmdb says of shards of ours, and of shards that somebody has forged.

namespace shale {
namespace {

using test::SampleSet;
using test::TempDir;

void write_samples(const std::string& path, const SampleSet& set) {
  std::vector<OutputFile> files;
  files.emplace_back(path, OutputFile::Options{.io = IoMode::buffered});
  const auto writer = lmdb_format.create_shard(files, set.schema, OptionSet(lmdb_format.options));
  for (const Sample& sample : set.samples)
    (void)writer->append(lmdb_format.encode(sample, set.schema, OptionSet(lmdb_format.options)));
  (void)writer->close();
  (void)files[0].finish();
}

struct Read {
  test::LmdbScanned scanned;
  LibraryReading reading;
};

Read read_by_library(const std::string& path, const Schema& schema,
                     const std::function<void()>& ask = {}) {
  Read read;
  std::vector<InputFile> files;
  files.emplace_back(path);
  const ShardLayout layout = lmdb_format.layout(schema, OptionSet(lmdb_format.options));
  read.reading = lmdb_format.scan_by_library(
      {files, schema, layout, true}, [&](const IndexRow& row) { read.scanned.rows.push_back(row); },
      [&](Finding finding) { read.scanned.findings.push_back(std::move(finding)); }, ask);
  return read;
}

SampleSet set_of(std::size_t samples, std::size_t bytes) {
  return test::plain_samples(test::schema_of(lmdb_format.can.kinds), samples, bytes);
}

// A shard whose bytes `forge` has changed, as liblmdb reads it.
template <class Forge>
Read read_forged(const SampleSet& set, Forge forge) {
  const TempDir dir;
  write_samples(dir / "a.lmdb", set);
  std::string bytes = test::read_text(dir / "a.lmdb");
  forge(bytes);
  test::write_file(dir / "a.lmdb", bytes);
  return read_by_library(dir / "a.lmdb", set.schema);
}

void put_u64(std::string& bytes, std::size_t offset, std::uint64_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

// NaNs are not equal to themselves; their bits are.
std::vector<IndexRow> without_reals(std::vector<IndexRow> rows) {
  for (IndexRow& row : rows) {
    for (IndexCell& cell : row.cells)
      cell.integer ^= std::bit_cast<std::int64_t>(std::exchange(cell.real, 0.0));
  }
  return rows;
}

TEST_CASE("lmdb by liblmdb: its rows are those of the scan, for values small, large and odd") {
  const Schema schema = test::schema_of(lmdb_format.can.kinds);
  for (const SampleSet& set :
       {test::odd_samples(schema), set_of(500, 3000), set_of(40, 500'000), set_of(0, 0)}) {
    CAPTURE(set.samples.size());
    const TempDir dir;
    write_samples(dir / "a.lmdb", set);
    const Read read = read_by_library(dir / "a.lmdb", schema);
    CHECK(read.reading.library.starts_with("liblmdb 0."));
    CHECK(read.reading.obstacle == "");
    CHECK(read.scanned.first_finding() == "");
    CHECK(without_reals(read.scanned.rows) ==
          without_reals(test::scan_lmdb(dir / "a.lmdb", schema,
                                        lmdb_format.layout(schema, OptionSet(lmdb_format.options)),
                                        true)
                            .rows));
    CHECK(read.scanned.rows.size() == set.samples.size());
  }
}

TEST_CASE("lmdb by liblmdb: a wrong number of entries is found") {
  const Read read = read_forged(set_of(5, 100), [](std::string& bytes) {
    for (const std::size_t meta : {std::size_t{0}, std::size_t{4096}})
      put_u64(bytes, meta + 88 + 32, 6);
  });
  REQUIRE(read.scanned.findings.size() == 1);
  CHECK(read.scanned.first_finding() ==
        "a.lmdb: liblmdb's count of entries differs from its walk: found mdb_stat 6, expected 5");
}

TEST_CASE("lmdb by liblmdb: keys out of order are walked, and not found when they are looked up") {
  const Read read = read_forged(set_of(300, 100), [](std::string& bytes) {
    bytes.replace(bytes.find("00000001"), 8, "00000007");
  });
  std::string all;
  for (const Finding& finding : read.scanned.findings) all += describe(finding) + "\n";
  CAPTURE(all);
  CHECK(all.find("liblmdb does not find the key '00000007'") != std::string::npos);
  CHECK(all.find("key is not the number of its row") != std::string::npos);
}

TEST_CASE("lmdb by liblmdb: a file that ends early kills it, which is a finding") {
  const Read read = read_forged(set_of(40, 100'000), [](std::string& bytes) {
    bytes.resize(bytes.size() / 2);
    for (const std::size_t meta : {std::size_t{0}, std::size_t{4096}})
      put_u64(bytes, meta + 32, 1 << 20);
  });
  REQUIRE(read.scanned.findings.size() == 1);
  CAPTURE(read.scanned.first_finding());
  CHECK(read.scanned.first_finding().find(" died of signal 7 (SIGBUS) on this file") !=
        std::string::npos);
  CHECK(read.reading.obstacle == "");
}

TEST_CASE("lmdb by liblmdb: what it does not open is a finding, in its words") {
  const Read read = read_forged(set_of(5, 100), [](std::string& bytes) { put_u64(bytes, 16, 7); });
  REQUIRE(read.scanned.findings.size() == 1);
  CAPTURE(read.scanned.first_finding());
  CHECK(read.scanned.findings[0].message.find("MDB_INVALID") != std::string::npos);
}

// The walk without liblmdb maps nothing, and is content with such a file.
TEST_CASE("lmdb by liblmdb: a map that no machine has room for is found") {
  const Read read = read_forged(set_of(5, 100), [](std::string& bytes) {
    for (const std::size_t meta : {std::size_t{0}, std::size_t{4096}})
      put_u64(bytes, meta + 32, std::uint64_t{1} << 60);
  });
  REQUIRE(read.scanned.findings.size() == 1);
  CHECK(read.scanned.findings[0].message == "meta page asks for a larger map than the file needs");
}

TEST_CASE("lmdb by liblmdb: a parent that is asked to stop is heard") {
  const TempDir dir;
  const SampleSet set = set_of(40, 100);
  write_samples(dir / "a.lmdb", set);
  const Error error = test::error_of([&] {
    (void)read_by_library(dir / "a.lmdb", set.schema,
                          [] { throw Error(Code::interrupted, "stop"); });
  });
  CHECK(error.code() == Code::interrupted);
}

}  // namespace
}  // namespace shale
