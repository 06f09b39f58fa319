#include <doctest/doctest.h>

#include "shale/sampling/bucket_shape.hpp"
#include "shale/sampling/bucketed_rows.hpp"
#include "shale/sampling/gathered_rows.hpp"
#include "shale/sampling/open_drawn_rows.hpp"

#include "support/sizes.hpp"
#include "unit/arrays/located_noise.hpp"
#include "unit/sampling/draw_checks.hpp"

// Which strategy rows take, by their sizes; and that all strategies lead to the same rows.

namespace shale {
namespace {

using test::error_of;
using test::kMebi;
using test::LocatedNoise;
using test::TempDir;

constexpr std::uint64_t kKibi = 1 << 10, kGibi = 1 << 30;

struct Row {
  std::uint64_t row_bytes, source_rows, rows, memory;
  DrawStrategy strategy;
};

TEST_CASE("planned draw: the strategy that moves the fewest bytes") {
  constexpr Row kRows[] = {
      // Half of the memory holds the source, or not.
      {1, 8 * kMebi, 8 * kMebi, 16 * kMebi, DrawStrategy::memory},
      {1, 8 * kMebi + 1, 8 * kMebi + 1, 16 * kMebi, DrawStrategy::buckets},
      {kMebi, 8, 1'000'000, 16 * kMebi, DrawStrategy::memory},
      // Nothing comes out.
      {4, kGibi, 0, 16 * kMebi, DrawStrategy::gather},
      {0, kGibi, kGibi, 16 * kMebi, DrawStrategy::memory},
      // All rows, once: 64 KiB is where it turns.
      {64 * kKibi - 1, 20'000, 20'000, 64 * kMebi, DrawStrategy::buckets},
      {64 * kKibi, 20'000, 20'000, 64 * kMebi, DrawStrategy::gather},
      {64 * kKibi + 1, 20'000, 20'000, 64 * kMebi, DrawStrategy::gather},
      // Few rows of a source that would fit.
      {kKibi, 8'000, 60, 16 * kMebi, DrawStrategy::gather},
      {kKibi, 8'000, 70, 16 * kMebi, DrawStrategy::memory},
      // Few of many small rows; a share that is worth the sweep.
      {8, kGibi, 1'000, 256 * kMebi, DrawStrategy::gather},
      {8, kGibi, 60'000, 256 * kMebi, DrawStrategy::gather},
      {8, kGibi, 70'000, 256 * kMebi, DrawStrategy::buckets},
      // Rows that no bucket takes.
      {kMebi, 1'000, 1'000, 16 * kMebi, DrawStrategy::gather},
      {2 * kMebi, 1'000, 100'000, 16 * kMebi, DrawStrategy::gather},
      {100 * kMebi, 10, 10, 16 * kMebi, DrawStrategy::gather},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.row_bytes);
    CAPTURE(row.source_rows);
    CAPTURE(row.rows);
    const DrawPlan plan = plan_drawn_rows(row.row_bytes, row.source_rows, row.rows, row.memory);
    CHECK(name_of(plan.strategy) == name_of(row.strategy));
    CHECK((plan.scratch_bytes > 0) == (row.strategy == DrawStrategy::buckets));
    CHECK((plan.passes == 1) == (row.strategy != DrawStrategy::buckets));
  }
}

TEST_CASE("planned draw: slots that are dear to look up are dealt, if rows are small") {
  constexpr Draw::Costs kDear{.slot = 420, .step = 100}, kCheap{.slot = 70, .step = 70};
  constexpr std::uint64_t kRows = 1'000'000, kMemory = 512 * kMebi;
  CHECK(plan_drawn_rows(8, kRows, kRows, kMemory, kCheap).strategy == DrawStrategy::memory);
  CHECK(plan_drawn_rows(8, kRows, kRows, kMemory, kDear).strategy == DrawStrategy::buckets);
  CHECK(plan_drawn_rows(159, kRows, kRows, kMemory, kDear).strategy == DrawStrategy::buckets);
  CHECK(plan_drawn_rows(161, kRows, kRows, kMemory, kDear).strategy == DrawStrategy::memory);
}

TEST_CASE("planned draw: what is read and written adds up") {
  const DrawPlan memory = plan_drawn_rows(10, 100, 500, 16 * kMebi);
  CHECK(memory.read_bytes == 1'000);
  CHECK(memory.written_bytes == 5'000);
  const DrawPlan gather = plan_drawn_rows(kMebi, 100, 500, 16 * kMebi);
  CHECK(gather.read_bytes == 500 * kMebi);
  CHECK(gather.written_bytes == 500 * kMebi);
  for (const std::uint64_t rows : {2 * kMebi, 40 * kMebi}) {
    const DrawPlan buckets = plan_drawn_rows(100, rows, rows, 16 * kMebi);
    const BucketPlan dealt = plan_buckets(100, rows, 16 * kMebi);
    CHECK(buckets.passes == dealt.passes + 1);
    const std::uint64_t tagged = dealt.passes * (100 + sizeof(BucketTag)) * rows;
    CHECK(buckets.read_bytes == 100 * rows + tagged);
    CHECK(buckets.written_bytes == tagged + 100 * rows);
    CHECK(buckets.write_amplification() > static_cast<double>(dealt.passes) + 1);
    CHECK(buckets.scratch_bytes == dealt.scratch_bytes);
  }
}

/// A shuffled order as a multiplication modulo a prime: quick, and each row once.
class PrimeDraw : public Draw {
 public:
  static constexpr std::uint64_t kPrime = 300'007, kFactor = 123'457;
  [[nodiscard]] std::uint64_t source_rows() const override { return kPrime; }
  [[nodiscard]] std::uint64_t rows() const override { return kPrime; }
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const override {
    for (std::uint64_t& row : into) row = first++ * kFactor % kPrime;
  }
  [[nodiscard]] std::uint64_t sweep_steps() const override { return kPrime; }
  [[nodiscard]] std::vector<DrawnPlace> sweep(std::uint64_t first,
                                              std::uint64_t last) const override {
    std::vector<DrawnPlace> places;
    for (std::uint64_t row = first; row < last; ++row) places.push_back({row, slot_of_[row]});
    return places;
  }

 private:
  std::vector<std::uint64_t> slot_of_ = [] {
    std::vector<std::uint64_t> slots(kPrime);
    for (std::uint64_t slot = 0; slot < kPrime; ++slot) slots[slot * kFactor % kPrime] = slot;
    return slots;
  }();
};

std::string all_of(DrawnRows& rows) {
  std::string all;
  for (Bytes piece = rows.next(); !piece.empty(); piece = rows.next()) all += as_text(piece);
  return all;
}

TEST_CASE("drawn rows: memory, gathering and buckets hand out the same bytes") {
  TempDir dir;
  const LocatedNoise noise(dir, 40, 8, {{80, 200'000}, {7, PrimeDraw::kPrime - 200'000, true}});
  const PrimeDraw draw;
  const Events events;
  std::string right;
  for (const std::uint64_t row : test::all_rows(draw)) right += noise.row(row);
  for (const std::uint64_t memory : {kLeastDrawMemory, 64 * kMebi}) {
    const DrawPlan plan = plan_drawn_rows(40, PrimeDraw::kPrime, PrimeDraw::kPrime, memory);
    CHECK(plan.strategy ==
          (memory == kLeastDrawMemory ? DrawStrategy::buckets : DrawStrategy::memory));
    CHECK((all_of(*open_drawn_rows(*noise.rows, draw, {2, memory, dir.path()}, events)) == right));
  }
  const GatherLimits limits{.jobs = 2, .memory_bytes = kLeastGatherMemory};
  CHECK((all_of(*open_gathered_rows(*noise.rows, draw, limits, events)) == right));
  CHECK(test::files_in(dir.path()).size() == 2);
}

}  // namespace
}  // namespace shale
