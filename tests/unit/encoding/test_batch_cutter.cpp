#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/encoding/batch_cutter.hpp"

#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// Samples of given sizes, one by one; or as many rows of one size as there are.
class SizedSource : public Source {
 public:
  explicit SizedSource(std::vector<std::uint64_t> sizes) : sizes_(std::move(sizes)) {
    info_.schema.fields = {{.name = "x", .kind = Kind::bytes}};
  }
  SizedSource(std::uint64_t rows, std::uint64_t row_bytes) : rows_(rows) {
    info_.schema.fields = {{.name = "x", .kind = Kind::bytes}};
    info_.row_bytes = row_bytes;
  }
  [[nodiscard]] const SourceInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    PendingSample sample;
    sample.cells.resize(1);
    if (info_.row_bytes) {
      if (rows_ == 0) return std::nullopt;
      sample.rows = std::min(most_rows, rows_);
      rows_ -= sample.rows;
      sample.bytes = sample.rows * *info_.row_bytes;
      return sample;
    }
    if (position_ == sizes_.size()) return std::nullopt;
    sample.key = std::to_string(position_);
    sample.bytes = sizes_[position_++];
    return sample;
  }

 private:
  SourceInfo info_;
  std::vector<std::uint64_t> sizes_;
  std::size_t position_ = 0;
  std::uint64_t rows_ = 0;
};

TEST_CASE("batch cutter: every sample comes once, in order, in batches that the budget covers") {
  SizedSource source(std::vector<std::uint64_t>(1000, 100'000));
  SharedBudget budget(16 * kMebi);
  BatchCutter cutter(source, budget, 2, {});
  std::uint64_t next = 0;
  while (std::optional<Batch> batch = cutter.next(0)) {
    CHECK(batch->first == next);
    std::uint64_t bytes = 0;
    for (const PendingSample& sample : batch->pending) {
      CHECK(sample.key == std::to_string(next++));
      bytes += sample.bytes;
    }
    CHECK(bytes == batch->bytes);
    CHECK(batch->lease.bytes() >= bytes);
    CHECK(budget.held() == batch->lease.bytes());
    cutter.recycle(std::move(*batch));
  }
  CHECK(next == 1000);
}

TEST_CASE("batch cutter: without room in the budget a batch waits, and then is the same") {
  SizedSource source(std::vector{3 * kMebi, 3 * kMebi});
  SharedBudget budget(4 * kMebi);
  BatchCutter cutter(source, budget, 1, {});
  std::optional<Batch> first = cutter.next(0);
  REQUIRE(first);
  CHECK_FALSE(cutter.next(1));
  CHECK_FALSE(cutter.next(1));
  first.reset();
  const std::optional<Batch> second = cutter.next(0);
  REQUIRE(second);
  CHECK(second->pending.at(0).key == "1");
}

TEST_CASE("batch cutter: a sample larger than a batch is a batch alone") {
  SizedSource source({10, 5 * kMebi, 10});
  SharedBudget budget(16 * kMebi);
  BatchCutter cutter(source, budget, 1, {});
  std::vector<std::size_t> sizes;
  while (const std::optional<Batch> batch = cutter.next(0)) sizes.push_back(batch->pending.size());
  CHECK(sizes == std::vector<std::size_t>{1, 1, 1});
}

TEST_CASE("batch cutter: a large buffer is used again, and given up when its memory is needed") {
  SizedSource source({5 * kMebi, 5 * kMebi + 100, 12 * kMebi, 5 * kMebi});
  SharedBudget budget(16 * kMebi);
  BatchCutter cutter(source, budget, 1, {});
  std::optional<Batch> batch = cutter.next(0);
  REQUIRE(batch);
  const std::byte* const memory = batch->buffer.bytes().data();
  const std::uint64_t leased = budget.held();
  CHECK(batch->buffer.capacity() <= leased);
  cutter.recycle(std::move(*batch));
  CHECK(budget.held() == leased);  // what lies idle counts as well

  batch = cutter.next(0);
  REQUIRE(batch);
  CHECK(batch->buffer.bytes().data() == memory);
  CHECK(budget.held() == leased);
  cutter.recycle(std::move(*batch));

  batch = cutter.next(0);  // larger
  REQUIRE(batch);
  CHECK(batch->pending.at(0).bytes == 12 * kMebi);
  CHECK(budget.held() == batch->lease.bytes());
  cutter.recycle(std::move(*batch));

  batch = cutter.next(0);  // less than half of it
  REQUIRE(batch);
  CHECK(budget.held() == leased);
  CHECK(batch->lease.bytes() == leased);
}

TEST_CASE("batch cutter: no more than two batches per job and two are in flight") {
  SizedSource source({1, 2, 3});
  SharedBudget budget(16 * kMebi);
  BatchCutter cutter(source, budget, 3, {});
  CHECK_FALSE(cutter.next(8));
  CHECK(cutter.next(7));
}

TEST_CASE("batch cutter: a sample larger than the budget stays unread where it may, alone") {
  SizedSource source({10, 900 * kMebi, 20});
  SharedBudget budget(8 * kMebi);
  BatchCutter cutter(source, budget, 1,
                     {.are_encoded_whole = false, .rows_a_shard = {}, .leaves_large = true});
  std::vector<std::string> cut;
  while (std::optional<Batch> batch = cutter.next(0)) {
    cut.push_back(batch->pending.front().key + (batch->leaves_large ? " unread" : ""));
    CHECK(batch->pending.size() == 1);
    CHECK(batch->lease.bytes() <= 4 * kMebi);
    cutter.recycle(std::move(*batch));
  }
  CHECK(cut == std::vector<std::string>{"0", "1 unread", "2"});
}

TEST_CASE("batch cutter: a sample larger than the budget is named") {
  SizedSource source(std::vector<std::uint64_t>{10, 9 * kMebi});
  SharedBudget budget(8 * kMebi);
  BatchCutter cutter(source, budget, 1, {});
  const Error error = error_of([&] {
    while (cutter.next(0)) continue;
  });
  CHECK(error.code() == Code::limit);
  CHECK(error.sample()->key == "1");
  CHECK(error.sample()->index == 1);
}

TEST_CASE("batch cutter: no run of rows goes across the end of a shard") {
  constexpr std::uint64_t kRows = 20'000, kRowsAShard = 5000;
  SizedSource source(kRows, 512);
  SharedBudget budget(16 * kMebi);
  BatchCutter cutter(source, budget, 1, {.are_encoded_whole = true, .rows_a_shard = kRowsAShard});
  std::uint64_t row = 0, runs = 0;
  while (const std::optional<Batch> batch = cutter.next(0)) {
    for (const PendingSample& run : batch->pending) {
      CHECK(row / kRowsAShard == (row + run.rows - 1) / kRowsAShard);
      row += run.rows;
      ++runs;
    }
  }
  CHECK(row == kRows);
  CHECK(runs > kRows / kRowsAShard);  // a batch is smaller than a shard
}

}  // namespace
}  // namespace shale
