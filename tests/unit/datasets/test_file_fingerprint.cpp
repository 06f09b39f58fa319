#include <filesystem>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "shale/data/fixed_value.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/manifest/manifest_file.hpp"

#include "tests/support/grid_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::grid_bytes;
using test::TempDir;
using test::write_file;

constexpr std::uint64_t kEnd = kFingerprintEndBytes,
                        kPieces = kFingerprintPieces * kFingerprintPieceBytes;

// How a file of so many bytes differs from one with another byte at `at`.
std::string change(const TempDir& dir, std::uint64_t bytes, std::uint64_t at) {
  std::string content(bytes, 'a');
  write_file(dir / "file", content);
  const FileFingerprint was = fingerprint_of(InputFile(dir / "file"));
  content[at] = 'b';
  write_file(dir / "file", content);
  return first_difference(was, fingerprint_of(InputFile(dir / "file"))).value_or("none");
}

TEST_CASE(
    "file fingerprint: every byte of a small file, and of a large one its ends, are covered") {
  struct Row {
    std::uint64_t bytes, at;
    std::string_view difference;
  };
  constexpr std::string_view kHead = "its first 256 KiB differ", kTail = "its last 256 KiB differ",
                             kMiddle = "bytes between its head and its tail differ";
  constexpr std::uint64_t kCovered = 2 * kEnd + kPieces, kLarge = 4 << 20;
  constexpr Row kRows[] = {
      {1, 0, kHead},
      {kEnd, kEnd - 1, kHead},
      {kEnd + 1, kEnd, kTail},
      {2 * kEnd, kEnd, kTail},
      {2 * kEnd + 1, kEnd, kMiddle},
      {kCovered, kEnd, kMiddle},
      {kCovered, kCovered - kEnd - 1, kMiddle},
      {kCovered + 1, kEnd + kPieces, kMiddle},  // the last piece ends where the tail begins
      {kLarge, kEnd - 1, kHead},
      {kLarge, kEnd, kMiddle},
      {kLarge, kEnd + kFingerprintPieceBytes, "none"},
      {kLarge, kLarge - kEnd - 1, kMiddle},
      {kLarge, kLarge - kEnd, kTail},
      {kLarge, kLarge - 1, kTail},
  };
  const TempDir dir;
  for (const Row& row : kRows) {
    CAPTURE(row.bytes);
    CAPTURE(row.at);
    CHECK(change(dir, row.bytes, row.at) == row.difference);
  }
}

TEST_CASE("file fingerprint: of an empty file and of its copy is one") {
  const TempDir dir;
  write_file(dir / "a", "");
  write_file(dir / "b", "");
  CHECK(fingerprint_of(InputFile(dir / "a")) == fingerprint_of(InputFile(dir / "b")));
}

TEST_CASE("foreign index: one without a fingerprint is of no released version, and refused") {
  const TempDir dir;
  const std::string file = dir / "a.grid";
  const std::vector<test::GridColumn> columns = {
      {field_of_column("y", DType::parse("<i2"), {}), "0123456789"}};
  write_file(file, grid_bytes(columns, 5));
  (void)index_file({.file = file, .index_folder = "", .generator = "shale test"}, {});
  std::vector<ManifestShard> shards;
  Manifest manifest = read_manifest(DatasetPaths::of_file(file, ""),
                                    [&](const ManifestShard& s) { shards.push_back(s); });
  CHECK_FALSE(change_since_index(InputFile(file), manifest, shards[0]));

  manifest.source.file.reset();
  CHECK(change_since_index(InputFile(file), manifest, shards[0])->find("before 0.2.0") !=
        std::string::npos);
  shards[0].files[0].bytes += 1;
  CHECK(change_since_index(InputFile(file), manifest, shards[0])->find("bytes, now") !=
        std::string::npos);
}

}  // namespace
}  // namespace shale
