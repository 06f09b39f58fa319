#include <filesystem>
#include <vector>

#include <doctest/doctest.h>

#include "shale/ops/parts.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("parts: missing numbers are what sbatch --array takes") {
  using Numbers = std::vector<std::uint64_t>;
  CHECK(array_expression(Numbers{}).empty());
  CHECK(array_expression(Numbers{3}) == "3");
  CHECK(array_expression(Numbers{3, 7, 8, 9}) == "3,7-9");
  CHECK(array_expression(Numbers{0, 1, 3, 5, 6}) == "0-1,3,5-6");
}

TEST_CASE("parts: a folder without parts is not found, and empty ones of that name are not there") {
  const TempDir dir;
  CHECK(error_of([&] { (void)find_parts({dir.path()}, {}); }).code() == Code::not_found);
  std::filesystem::create_directories(dir / "part-00001-of-00003");
  CHECK(error_of([&] { (void)find_parts({dir.path()}, {}); }).code() == Code::not_found);
}

TEST_CASE("parts: files under the name of a part without a manifest are damage") {
  const TempDir dir;
  std::filesystem::create_directories(dir / "part-00001-of-00003");
  write_file(dir / "part-00001-of-00003/shard-000000.grid", "x");
  const PartsReport report = find_parts({dir.path()}, {});
  CHECK(report.holds_damage());
  CHECK(report.count == 3);
  CHECK(report.absent == std::vector<std::uint64_t>{0, 2});
  CHECK(report.missing == std::vector<std::uint64_t>{0, 1, 2});
}

}  // namespace
}  // namespace shale
