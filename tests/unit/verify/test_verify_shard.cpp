#include <doctest/doctest.h>

#include "shale/manifest/manifest_file.hpp"
#include "shale/verify/verify.hpp"
#include "shale/verify/verify_shard.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;

VerifyReport verified(const std::string& path, VerifyDepth depth) {
  return verify({.dataset = path,
                 .depth = depth,
                 .against = {},
                 .index_folder = "",
                 .generator = "shale test"},
                {}, {});
}

TEST_CASE("foreign rows: what has just been indexed is whole") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows, 9));
  (void)index_file(indexing(dir / "big.grid", true), {});

  const VerifyReport report = verified(dir / "big.grid", VerifyDepth::deep);

  CHECK(report.findings == 0);
  CHECK(report.samples == kRows);
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
        fmt::format("block hash mismatch (rows {} to 2999 of 'x', rows 0 to 2999 "
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
  CHECK(finding.message.find("2 more, the last in row 2000") != std::string::npos);
  CHECK(report.first_findings[2].found.starts_with("2997 samples"));
}

}  // namespace
}  // namespace shale
