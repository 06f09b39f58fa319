#include <doctest/doctest.h>

#include "shale/ops/inspect.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;

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
