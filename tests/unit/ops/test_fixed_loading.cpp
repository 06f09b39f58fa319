#include <cstring>
#include <filesystem>

#include <doctest/doctest.h>

#include "shale/data/fixed_value.hpp"
#include "shale/ops/foreign_file.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/ops/loader.hpp"
#include "shale/ops/verify.hpp"
#include "shale/shards/manifest_file.hpp"

#include "tests/support/grid_format.hpp"
#include "tests/support/temp_dir.hpp"

// Files of other tools whose rows are fixed: no index is made, and nothing of them is read before
// it is asked for.

namespace shale {
namespace {

using test::error_of;
using test::files_in;
using test::grid_bytes;
using test::GridColumn;
using test::read_text;
using test::TempDir;
using test::write_file;

constexpr std::uint64_t kRows = 3000, kTensorBytes = 1200;

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

float real_of(std::uint64_t row) { return static_cast<float>(row) * 0.25F; }
std::string tensor_of(std::uint64_t row) {
  return std::string(kTensorBytes - 1, static_cast<char>(row)) + static_cast<char>(row / 256);
}

// A tensor, an int16, a float32 and a bool; three MiB and a half.
std::vector<GridColumn> columns_of(std::uint64_t rows = kRows) {
  std::vector<GridColumn> columns = {
      {field_of_column("x", DType::parse("<i2"), {2, 300}), ""},
      {field_of_column("y", DType::parse("<i2"), {}), ""},
      {field_of_column("z", DType::parse("<f4"), {}), ""},
      {field_of_column("flag", DType::parse("|b1"), {}), ""},
  };
  for (std::uint64_t row = 0; row < rows; ++row) {
    columns[0].values += tensor_of(row);
    put(columns[1].values, static_cast<std::int16_t>(-static_cast<std::int64_t>(row)));
    put(columns[2].values, real_of(row));
    put(columns[3].values, static_cast<std::uint8_t>(row % 3 == 0));
  }
  return columns;
}

LoaderRequest request_of(const std::string& path, bool verifies) {
  return {.path = path, .proof = verifies ? Proof::all : Proof::none, .generator = "shale test"};
}

ForeignRequest indexing(const std::string& file, bool with_checksums = false) {
  return {.file = file,
          .index_folder = "",
          .with_checksums = with_checksums,
          .generator = "shale test"};
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

VerifyReport verified(const std::string& path, VerifyDepth depth) {
  return verify({.dataset = path,
                 .depth = depth,
                 .against = {},
                 .labels_file = "",
                 .index_folder = "",
                 .generator = "shale test"},
                {}, {});
}

void flip(const std::string& path, std::uint64_t offset) {
  std::string bytes = read_text(path);
  bytes[offset] = static_cast<char>(bytes[offset] ^ 0x40);
  const auto time = std::filesystem::last_write_time(path);
  write_file(path, bytes);
  std::filesystem::last_write_time(path, time);  // no index notices this
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
    const Loader::Column column = loader.column("y");
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
  CHECK(verified(dir / "big.grid", VerifyDepth::deep).findings == 0);
  CHECK(verified(dir / "big.grid", VerifyDepth::deep).samples == kRows);
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
  CHECK(error_of([&] { Loader(request_of(dir / "big.grid", false), {}); }).code() ==
        Code::mismatch);
}

TEST_CASE("foreign rows: verify names the rows and fields of a damaged block") {
  const TempDir dir;
  const std::string bytes = grid_bytes(columns_of(), kRows);
  write_file(dir / "big.grid", bytes);
  CHECK(verified(dir / "big.grid", VerifyDepth::full).samples == kRows);  // without an index too
  (void)index_file(indexing(dir / "big.grid", true), {});
  CHECK(read_manifest(DatasetPaths::of_file(dir / "big.grid", "")).layout.has_checksums);
  flip(dir / "big.grid", bytes.size() - 1);

  const VerifyReport report = verified(dir / "big.grid", VerifyDepth::full);

  REQUIRE(report.findings == 1);
  const Finding& finding = report.first_findings[0];
  const std::uint64_t first = (3 * kBlockBytes - (bytes.size() - kRows * 1207)) / kTensorBytes;
  CHECK(finding.offset == 3 * kBlockBytes);
  CHECK(finding.field == "x");
  CHECK(finding.row == first);
  CHECK(finding.message ==
        fmt::format("block hash is wrong (rows {} to 2999 of 'x', rows 0 to 2999 "
                    "of 'y', rows 0 to 2999 of 'z', rows 0 to 2999 of 'flag')",
                    first));
}

TEST_CASE("foreign rows: a bool that is none is a finding of its row and field, once a column") {
  const TempDir dir;
  std::vector<GridColumn> columns = columns_of();
  const std::string sound = grid_bytes(columns, kRows);
  write_file(dir / "big.grid", sound);
  (void)index_file(indexing(dir / "big.grid", true), {});
  for (const std::uint64_t row : {100U, 101U, 2000U})
    flip(dir / "big.grid", sound.size() - kRows + row);

  const VerifyReport report = verified(dir / "big.grid", VerifyDepth::deep);

  REQUIRE(report.findings == 3);  // the block, the bools, the digest
  const Finding& finding = report.first_findings[1];
  CHECK(finding.row == 100);
  CHECK(finding.field == "flag");
  CHECK(finding.offset == sound.size() - kRows + 100);
  CHECK(finding.message.find("2 more, the last of them in row 2000") != std::string::npos);
  CHECK(report.first_findings[2].found.starts_with("2997 samples"));
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

TEST_CASE("foreign rows: a block list that is not that of the file vouches for nothing") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows));
  (void)index_file(indexing(dir / "big.grid", true), {});
  flip(dir / "big.grid.blocks.npy", 130);
  const Loader loader(request_of(dir / "big.grid", true), {});
  const Error error = error_of([&] { (void)loader.locate({{7}}); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == dir / "big.grid.blocks.npy");
}

TEST_CASE("foreign rows: info and cat say what a file holds, by row and by number") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows));
  const DatasetRequest request{.path = dir / "big.grid", .generator = "shale test"};
  const DatasetInfo info = inspect(request, {});
  CHECK(info.manifest.digest.samples == kRows);
  CHECK(!info.is_indexed);
  for (const FoundSample& found : {find_row(request, 42, {}), find_key(request, "42", {})}) {
    CHECK(found.row == 42);
    CHECK(found.sample.key == "42");
    CHECK(!found.has_crc32c);
    CHECK(std::get<std::int64_t>(found.sample.values[1]) == -42);
    CHECK((as_text(std::get<Bytes>(found.sample.values[0])) == tensor_of(42)));
  }
  CHECK(error_of([&] { (void)find_key(request, "042", {}); }).code() == Code::not_found);
  CHECK(error_of([&] { (void)find_row(request, kRows, {}); }).code() == Code::not_found);
}

}  // namespace
}  // namespace shale
