#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/formats/hdf5/hdf5_shard_tools.hpp"
#include "tests/formats/hdf5/mend_checksums.hpp"
#include "tests/support/sample_sets.hpp"

// What the HDF5 library says of shards of ours, and of shards that somebody has forged.

namespace shale {
namespace {

using test::ScannedHdf5;
using test::TempDir;

struct Read {
  ScannedHdf5 scanned;
  LibraryReading reading;

  [[nodiscard]] std::string first_finding() const {
    return scanned.findings.empty() ? "" : describe(scanned.findings.front());
  }
};

Read read_by_library(const std::string& path, const Schema& schema, std::uint64_t samples = 0,
                     std::span<const std::uint64_t> bases = {}) {
  Read read;
  std::vector<InputFile> files;
  files.emplace_back(path);
  const ShardLayout layout = hdf5_format.layout(schema, test::kHdf5Options);
  read.reading = hdf5_format.scan_by_library(
      {files, schema, layout, true, samples, bases},
      [&](const IndexRow& row) { read.scanned.rows.push_back(row); },
      [&](Finding finding) { read.scanned.findings.push_back(std::move(finding)); }, {});
  return read;
}

// A shard of five samples whose bytes `forge` has changed, under sound checksums.
template <class Forge>
Read read_forged(Forge forge) {
  const TempDir dir;
  const std::vector<Sample> samples(5, test::hdf5_sample());
  (void)test::write_hdf5_shard(dir / "a.h5", test::hdf5_schema(), samples);
  std::string bytes = test::read_text(dir / "a.h5");
  forge(bytes);
  test::mend_checksums(bytes);
  test::write_file(dir / "a.h5", bytes);
  return read_by_library(dir / "a.h5", test::hdf5_schema());
}

// NaNs are not equal to themselves; their bits are.
std::vector<IndexRow> without_reals(std::vector<IndexRow> rows) {
  for (IndexRow& row : rows) {
    row.elements.clear();  // the child sends rows of an index
    for (IndexCell& cell : row.cells)
      cell.integer ^= std::bit_cast<std::int64_t>(std::exchange(cell.real, 0.0));
  }
  return rows;
}

TEST_CASE("hdf5 by the library: its rows are those of the scan, for values small, large and odd") {
  const Schema schema = test::schema_of(hdf5_format.can.kinds);
  for (const test::SampleSet& set :
       {test::odd_samples(schema), test::plain_samples(schema, 500, 3000),
        test::plain_samples(schema, 10, 900'000), test::plain_samples(schema, 0, 0)}) {
    CAPTURE(set.samples.size());
    const TempDir dir;
    (void)test::write_hdf5_shard(dir / "a.h5", schema, set.samples);
    const Read read = read_by_library(dir / "a.h5", schema);
    CHECK(read.reading.library.starts_with("HDF5 1."));
    CHECK(read.reading.obstacle == "");
    CHECK(read.first_finding() == "");
    CHECK(without_reals(read.scanned.rows) ==
          without_reals(test::scan_hdf5(dir / "a.h5", schema).rows));
    CHECK(read.scanned.rows.size() == set.samples.size());
  }
}

// Two axes of it are read in several runs, of which one ends in the middle of an axis.
TEST_CASE("hdf5 by the library: a value larger than what is read at once is read piece by piece") {
  const TempDir dir;
  const Schema schema{.fields = {test::tensor("x", "<f4", {3, 170, 1000})}};
  std::vector<float> numbers(3 * 170 * 1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const std::string bytes = test::raw(numbers);
  const std::vector<Sample> samples(2, {.key = "a", .values = {as_bytes(bytes)}});
  (void)test::write_hdf5_shard(dir / "a.h5", schema, samples);
  const Read read = read_by_library(dir / "a.h5", schema);
  CHECK(read.first_finding() == "");
  CHECK(read.scanned.rows == test::scan_hdf5(dir / "a.h5", schema).rows);
}

TEST_CASE("hdf5 by the library: fixed rows of every dtype are what the manifest says") {
  for (const std::string_view descr : test::kHdf5Descrs) {
    CAPTURE(descr);
    const TempDir dir;
    const Schema schema{.fields = {test::tensor("x", descr, {3, 50})}, .has_keys = false};
    const std::string row(schema.fields[0].tensor_bytes(), '\1');
    const std::vector<Record> runs(9,
                                   test::fixed_row(schema, {.key = "", .values = {as_bytes(row)}}));
    std::vector<std::uint64_t> bases = test::write_fixed_hdf5(dir / "a.h5", schema, runs);
    CHECK(read_by_library(dir / "a.h5", schema, 9, bases).first_finding() == "");

    bases[0] += 8;
    CHECK(read_by_library(dir / "a.h5", schema, 9, bases)
              .first_finding()
              .find("the HDF5 library finds the dataset elsewhere") != std::string::npos);
    bases[0] -= 8;
    CHECK(read_by_library(dir / "a.h5", schema, 8, bases)
              .first_finding()
              .find("the HDF5 library finds a different shape") != std::string::npos);
  }
}

TEST_CASE("hdf5 by the library: an address that was changed gives other rows") {
  const Read sound = read_forged([](std::string&) {});
  const std::uint64_t place = sound.scanned.rows[0].cells[0].place.offset;
  const Read read = read_forged([&](std::string& bytes) {
    const std::string address(reinterpret_cast<const char*>(&place), sizeof(place));
    const std::uint64_t moved = place + 1;
    std::memcpy(bytes.data() + bytes.find(address), &moved, sizeof(moved));
  });
  CHECK(sound.first_finding() == "");
  CHECK(read.scanned.rows != sound.scanned.rows);
}

TEST_CASE("hdf5 by the library: what it does not open is a finding, in its words") {
  const Read read = read_forged([](std::string& bytes) { bytes[0] = 'x'; });
  CHECK(read.first_finding().find("a.h5: the HDF5 library cannot open this file") == 0);
  CHECK(read.reading.obstacle == "");
}

TEST_CASE("hdf5 by the library: a file that it takes for truncated is a finding") {
  const Read read = read_forged([](std::string& bytes) {
    const std::uint64_t end = bytes.size() + 1;
    std::memcpy(bytes.data() + 28, &end, sizeof(end));
  });
  CHECK(read.first_finding() != "");
}

}  // namespace
}  // namespace shale
