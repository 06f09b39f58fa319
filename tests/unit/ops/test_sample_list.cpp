#include <limits>

#include <doctest/doctest.h>

#include "shale/ops/inspect.hpp"
#include "shale/ops/sample_list.hpp"

#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

std::vector<ListedSample> listed(const DatasetRequest& request, std::uint64_t first = 0,
                                 std::uint64_t end = kAll) {
  const Events events;
  SampleList list(request, first, end, events);
  std::vector<ListedSample> all;
  for (std::vector<ListedSample> some = list.next(); !some.empty(); some = list.next())
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

// The second column is the label.
std::vector<GridColumn> labelled_columns() {
  std::vector<GridColumn> columns = columns_of();
  columns[1].field.name = "label";
  return columns;
}

}  // namespace

TEST_CASE("sample list: rows without keys are listed by number, with their labels and bytes") {
  const TempDir dir;
  write_file(dir / "a.grid", grid_bytes(labelled_columns(), kRows));
  const DatasetRequest request{.path = dir / "a.grid", .generator = "shale test"};

  const std::vector<ListedSample> samples = listed(request);

  REQUIRE(samples.size() == kRows);
  std::uint64_t bytes = 0;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    CHECK(samples[row].row == row);
    CHECK(samples[row].key == std::to_string(row));
    CHECK(samples[row].label == -static_cast<std::int64_t>(row));
    bytes += samples[row].bytes;
  }
  CHECK(bytes == inspect(request, {}).manifest.payload_bytes);
}

TEST_CASE("sample list: a range is cut to the rows that exist") {
  const TempDir dir;
  write_file(dir / "a.grid", grid_bytes(columns_of(), kRows));
  const DatasetRequest request{.path = dir / "a.grid", .generator = "shale test"};
  const std::vector<ListedSample> middle = listed(request, 1000, 2500);
  REQUIRE(middle.size() == 1500);
  CHECK(middle.front().row == 1000);
  CHECK(middle.back().row == 2499);
  CHECK(!middle.front().label);  // there is no such field
  CHECK(listed(request, kRows - 1, kAll).size() == 1);
  CHECK(listed(request, kRows, kAll).empty());
  CHECK(listed(request, 7, 3).empty());
}

TEST_CASE("sample list: it stops between batches") {
  const TempDir dir;
  write_file(dir / "a.grid", grid_bytes(columns_of(), kRows));
  Events events;
  bool is_signalled = false;
  events.should_stop = [&] { return is_signalled; };
  SampleList list({.path = dir / "a.grid", .generator = "shale test"}, 0, kAll, events);
  CHECK(!list.next().empty());
  is_signalled = true;
  CHECK(error_of([&] { (void)list.next(); }).code() == Code::interrupted);
}

}  // namespace shale
