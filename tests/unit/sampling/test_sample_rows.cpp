#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "shale/sampling/sample_rows.hpp"

namespace shale {
namespace {

std::vector<DrawnRow> rows_of(const SampleRows& sample) {
  std::vector<DrawnRow> rows;
  sample.for_each([&](const std::vector<DrawnRow>& some) {
    CHECK(some.size() <= SampleRows::kAtOnce);
    rows.insert(rows.end(), some.begin(), some.end());
  });
  return rows;
}

TEST_CASE("sample rows: all rows are handed out once, in order") {
  const SampleRows sample(1000, 0, 22);
  CHECK(sample.is_all());
  const std::vector<DrawnRow> rows = rows_of(sample);
  REQUIRE(rows.size() == 1000);
  for (std::uint64_t i = 0; i < rows.size(); ++i) CHECK(rows[i].row == i);
}

TEST_CASE("sample rows: a sample has as many different rows as were wanted, in order") {
  const std::vector<DrawnRow> rows = rows_of(SampleRows(100'000, 777, 22));
  REQUIRE(rows.size() == 777);
  CHECK(std::ranges::is_sorted(rows, std::less<>{}, &DrawnRow::row));
  std::set<std::uint64_t> different;
  for (const DrawnRow& row : rows) different.insert(row.row);
  CHECK(different.size() == 777);
}

TEST_CASE("sample rows: a row's position says how early it was drawn") {
  const SampleRows sample(5000, 500, 22);
  const std::vector<std::uint64_t> first = sample.first(500);
  for (const DrawnRow& row : rows_of(sample)) CHECK(first[row.position] == row.row);
  std::vector<std::uint64_t> rows(first);
  sample.positions_of(rows);
  for (std::uint64_t i = 0; i < rows.size(); ++i) CHECK(rows[i] == i);
}

TEST_CASE("sample rows: more than is held at once is the same sample") {
  constexpr std::uint64_t kRows = 3 << 20, kWanted = 2 << 20;
  const SampleRows sample(kRows, kWanted, 22);
  std::uint64_t count = 0;
  bool all_are_drawn = true;
  sample.for_each([&](const std::vector<DrawnRow>& some) {
    count += some.size();
    for (const DrawnRow& row : some) all_are_drawn = all_are_drawn && row.position < kWanted;
  });
  CHECK(count == kWanted);
  CHECK(all_are_drawn);
}

TEST_CASE("sample rows: of no rows there are none") {
  CHECK(rows_of(SampleRows(0, 10, 22)).empty());
  CHECK(SampleRows(0, 10, 22).first(3).empty());
}

}  // namespace
}  // namespace shale
