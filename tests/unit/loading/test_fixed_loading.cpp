#include <cstring>
#include <filesystem>

#include <doctest/doctest.h>

#include "shale/datasets/foreign_file.hpp"
#include "shale/loading/loader.hpp"
#include "shale/manifest/manifest_file.hpp"

#include "tests/support/grid_rows.hpp"
#include "tests/support/temp_dir.hpp"

// Files of other tools whose rows are fixed: no index is made, and nothing of them is read before
// it is asked for.

namespace shale {
namespace {

using namespace test;

LoaderRequest request_of(const std::string& path, bool verifies) {
  return {.path = path, .proof = verifies ? Proof::all : Proof::none, .generator = "shale test"};
}

std::string tensor_read(const Loader& loader, const LocatedSample& sample) {
  std::string bytes(Loader::bytes_of_value(sample, 0), '?');
  const Fetch fetch{&sample, 0, std::as_writable_bytes(std::span(bytes))};
  loader.fetch({&fetch, 1});
  return bytes;
}

void check_rows(const Loader& loader, const std::vector<std::uint64_t>& rows) {
  const std::vector<LocatedSample> samples = loader.locate(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i]);
    CHECK(samples[i].place.cells[1].integer == -static_cast<std::int64_t>(rows[i]));
    CHECK(samples[i].place.cells[2].real == static_cast<double>(real_of(rows[i])));
    CHECK(samples[i].place.cells[3].integer == (rows[i] % 3 == 0 ? 1 : 0));
    CHECK((tensor_read(loader, samples[i]) == tensor_of(rows[i])));
  }
}

TEST_CASE("foreign rows: a file is read at once, and nothing is written") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows, 77));
  for (const bool verifies : {false, true}) {
    CAPTURE(verifies);
    const Loader loader(request_of(dir / "big.grid", verifies), {});
    REQUIRE(loader.size() == kRows);
    check_rows(loader, {0, kRows - 1, 5, 5, 1500, 6, 7, 873, 874});
    CHECK(loader.find("2999") == 2999);
    CHECK(loader.find("02") == std::nullopt);
    CHECK(loader.find("3000") == std::nullopt);
    CHECK(loader.key_of(17) == "17");
  }
  CHECK(files_in(dir.path()) == std::vector<std::string>{"big.grid"});
}

TEST_CASE("foreign rows: opening does not read the payload, nor does reading one field another") {
  const TempDir dir;
  std::string bytes = grid_bytes(columns_of(), kRows);
  bytes[bytes.size() - kRows] = 2;  // the first bool
  write_file(dir / "big.grid", bytes);
  const Loader loader(request_of(dir / "big.grid", false), {});
  const std::vector<std::uint64_t> rows = {0};

  CHECK(loader.locate(rows, {true, true, false, false})[0].place.cells[1].integer == 0);
  const Error error = error_of([&] { (void)loader.locate(rows); });

  CHECK(error.code() == Code::damaged);
  CHECK(error.offset() == bytes.size() - kRows);
  CHECK(error.sample()->index == 0);
}

TEST_CASE("foreign rows: a column has the dtype that it is stored in, and a tensor is none") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows, 3));
  for (const bool verifies : {false, true}) {
    const Loader loader(request_of(dir / "big.grid", verifies), {});
    const ColumnPlace column = loader.column("y");
    CHECK(column.descr == "<i2");
    CHECK(loader.column("z").descr == "<f4");
    CHECK(loader.column("flag").descr == "|b1");
    std::vector<std::int16_t> part(1000);
    loader.read_column(column, 1500, std::as_writable_bytes(std::span(part)));
    CHECK(part.front() == -1500);
    CHECK(part.back() == -2499);
    CHECK(error_of([&] { (void)loader.column("x"); }).hint().find("y, z, flag") !=
          std::string::npos);
    CHECK(error_of([&] { (void)loader.column("nope"); }).code() == Code::not_found);
  }
}

TEST_CASE("foreign rows: what is indexed has a manifest and a block list, and no index") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows, 9));

  const IndexedFile plain = index_file(indexing(dir / "big.grid"), {});
  CHECK(plain.manifest.digest.samples == kRows);
  CHECK(plain.manifest.payload_bytes == kRows * kTensorBytes);
  CHECK(files_in(dir.path()) == std::vector<std::string>{"big.grid", "big.grid.dataset.json"});

  ForeignRequest request = indexing(dir / "big.grid", true);
  const IndexedFile indexed = index_file(request, {});
  CHECK(files_in(dir.path()) ==
        std::vector<std::string>{"big.grid", "big.grid.blocks.npy", "big.grid.dataset.json"});
  const std::vector<GridColumn> columns = columns_of();
  std::vector<Bytes> stored;
  for (const GridColumn& column : columns) stored.push_back(as_bytes(column.values));
  CHECK(indexed.manifest.digest == digest_of_rows(stored, kRows, indexed.manifest.schema));
  CHECK(index_without_name(request, {}).manifest.digest == indexed.manifest.digest);

  check_rows(Loader(request_of(dir / "big.grid", true), {}), {2999, 0, 44});
}

TEST_CASE("foreign rows: rows of any size give one digest, whatever memory there is") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows));
  ForeignRequest request = indexing(dir / "big.grid", true);
  const DatasetDigest digest = index_without_name(request, {}).manifest.digest;
  request.memory_bytes = 5000;
  CHECK(index_without_name(request, {}).manifest.digest == digest);
  request.memory_bytes = 1206;
  CHECK(error_of([&] { (void)index_without_name(request, {}); }).code() == Code::limit);
}

TEST_CASE("foreign rows: a file that does not hold its rows, or has changed, is refused") {
  const TempDir dir;
  const std::string bytes = grid_bytes(columns_of(), kRows);
  write_file(dir / "cut.grid", bytes.substr(0, bytes.size() - 1));
  CHECK(error_of([&] { Loader(request_of(dir / "cut.grid", false), {}); }).code() == Code::damaged);
  CHECK(error_of([&] { (void)index_file(indexing(dir / "cut.grid"), {}); }).code() ==
        Code::damaged);
  CHECK(files_in(dir.path()) == std::vector<std::string>{"cut.grid"});

  write_file(dir / "big.grid", bytes);
  (void)index_file(indexing(dir / "big.grid"), {});
  write_file(dir / "big.grid", bytes + "more");
  CHECK(error_of([&] { Loader(request_of(dir / "big.grid", false), {}); }).code() == Code::damaged);
}

TEST_CASE(
    "foreign rows: what is read with verify is proved, and only what it lies in must be sound") {
  const TempDir dir("/var/tmp");
  const std::string bytes = grid_bytes(columns_of(), kRows);
  const std::uint64_t head = bytes.size() - kRows * 1207;
  write_file(dir / "big.grid", bytes);
  (void)index_file(indexing(dir / "big.grid", true), {});
  constexpr std::uint64_t kFlipped = kBlockBytes + 8197;  // not in what the fingerprint covers
  flip(dir / "big.grid", kFlipped);
  const std::uint64_t victim = (kFlipped - head) / kTensorBytes;
  for (const CachePolicy cache : {CachePolicy::keep, CachePolicy::drop, CachePolicy::direct}) {
    LoaderRequest request = request_of(dir / "big.grid", true);
    request.cache = cache;
    const Loader loader(request, {});
    check_rows(loader, {0, 800, 2999, 1800});
    for (const std::uint64_t row : {victim, victim + 1, victim + 800}) {
      const std::vector<LocatedSample> sample = loader.locate({{row}});
      const Error error = error_of([&] { (void)tensor_read(loader, sample[0]); });
      CHECK(error.code() == Code::damaged);
      CHECK(error.file() == dir / "big.grid");
      CHECK(error.offset() == head + row * kTensorBytes);
      CHECK(error.sample()->index == row);
    }
  }
}

TEST_CASE("foreign rows: a block list that differs from the file vouches for nothing") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows));
  (void)index_file(indexing(dir / "big.grid", true), {});
  flip(dir / "big.grid.blocks.npy", 130);
  const Loader loader(request_of(dir / "big.grid", true), {});
  const Error error = error_of([&] { (void)loader.locate({{7}}); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == dir / "big.grid.blocks.npy");
}

}  // namespace
}  // namespace shale
