#include <doctest/doctest.h>

#include "shale/manifest/manifest_file.hpp"
#include "shale/verify/open_to_verify.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;

struct Opened {
  std::optional<OpenedDataset> dataset;
  VerifyReport report;
};

Opened opened(const std::string& path, VerifyDepth depth = VerifyDepth::full) {
  VerifyRequest request;
  request.dataset = path;
  request.depth = depth;
  const FindingSink sink;
  const Events events;
  VerifyLog log(sink, events);
  Opened result{open_to_verify(request, log), {}};
  result.report = std::move(log.report());
  return result;
}

TEST_CASE("open to verify: what is no dataset is refused by what it is") {
  const TempDir dir;
  write_file(dir / "notes/a.txt", "no dataset");

  CHECK(error_of([&] { (void)opened(dir / "nothing"); }).code() == Code::not_found);
  CHECK(error_of([&] { (void)opened(dir / "notes"); }).code() == Code::unsupported);
}

TEST_CASE("open to verify: an indexed file is opened, and one without checksums is said to be") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows));
  (void)index_file(indexing(dir / "big.grid", true), {});
  const Opened proved = opened(dir / "big.grid");
  (void)index_file(indexing(dir / "big.grid", false), {});
  const Opened located = opened(dir / "big.grid");

  REQUIRE(proved.dataset.has_value());
  CHECK(proved.dataset->manifest.digest.samples == kRows);
  CHECK(proved.report.notes.empty());
  REQUIRE(located.dataset.has_value());
  CHECK_FALSE(located.report.proves_payload);
  REQUIRE(located.report.notes.size() == 1);
}

TEST_CASE("open to verify: of a file without an index the structure is checked, and that is all") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows));

  const Opened checked = opened(dir / "big.grid");

  CHECK_FALSE(checked.dataset.has_value());
  CHECK(checked.report.samples == kRows);
  CHECK(checked.report.findings == 0);
  CHECK_FALSE(checked.report.proves_payload);
}

TEST_CASE("open to verify: a file that grew since it was indexed is one finding") {
  const TempDir dir;
  const std::string bytes = grid_bytes(columns_of(), kRows);
  write_file(dir / "big.grid", bytes);
  (void)index_file(indexing(dir / "big.grid", true), {});
  write_file(dir / "big.grid", bytes + "more");

  const Opened grown = opened(dir / "big.grid");

  CHECK_FALSE(grown.dataset.has_value());
  CHECK(grown.report.findings == 1);
}

TEST_CASE("open to verify: a damaged manifest is one finding, and nothing is opened") {
  const TempDir dir;
  write_file(dir / "big.grid", grid_bytes(columns_of(), kRows));
  (void)index_file(indexing(dir / "big.grid", true), {});
  flip(DatasetPaths::of_file(dir / "big.grid", "").manifest, 100);

  const Opened damaged = opened(dir / "big.grid");

  CHECK_FALSE(damaged.dataset.has_value());
  CHECK(damaged.report.findings == 1);
}

}  // namespace
}  // namespace shale
