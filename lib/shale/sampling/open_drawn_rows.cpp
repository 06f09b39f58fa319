#include "shale/sampling/open_drawn_rows.hpp"

#include <algorithm>

#include "shale/sampling/bucket_shape.hpp"
#include "shale/sampling/bucketed_rows.hpp"
#include "shale/sampling/gathered_rows.hpp"

namespace shale {

static_assert(kLeastDrawMemory >= std::max(kLeastGatherMemory, kLeastBucketMemory));

DrawPlan plan_drawn_rows(std::uint64_t row_bytes, std::uint64_t source_rows, std::uint64_t rows,
                         std::uint64_t memory_bytes, Draw::Costs costs) {
  const std::uint64_t source_bytes = source_rows * row_bytes, output_bytes = rows * row_bytes;
  // In floating point: an estimate may be larger than any integer. The output itself is written on
  // all strategies.
  const auto real = [](std::uint64_t value) { return static_cast<double>(value); };
  const double seeking = real(rows) * (real(row_bytes) + real(kSeekBytes));
  const bool is_whole =
      fits_gather_memory(source_bytes, memory_bytes) && real(source_bytes) <= seeking;
  const DrawPlan gather{.strategy = is_whole ? DrawStrategy::memory : DrawStrategy::gather,
                        .passes = 1,
                        .read_bytes = is_whole ? source_bytes : output_bytes,
                        .written_bytes = output_bytes,
                        .scratch_bytes = 0,
                        .output_bytes = output_bytes};
  if (output_bytes == 0 || row_bytes > memory_bytes / kMostBucketRowShare) return gather;
  const double gathering =
      (is_whole ? real(source_bytes) : seeking) + real(rows) * real(costs.slot);
  const BucketPlan buckets = plan_buckets(row_bytes, rows, memory_bytes);
  const double dealing = real(source_bytes) + 2 * real(buckets.passes) * real(output_bytes) +
                         real(std::max(rows, source_rows)) * real(costs.step);
  if (gathering <= dealing) return gather;
  // A row lies in a bucket with its slot, which of tiny rows is most of it.
  const std::uint64_t dealt_bytes = buckets.passes * rows * (row_bytes + sizeof(BucketTag));
  return {.strategy = DrawStrategy::buckets,
          .passes = buckets.passes + 1,
          .read_bytes = source_bytes + dealt_bytes,
          .written_bytes = dealt_bytes + output_bytes,
          .scratch_bytes = buckets.scratch_bytes,
          .output_bytes = output_bytes};
}

ScratchNeed scratch_of(const DrawPlan& plan, const Draw& draw) {
  if (plan.strategy != DrawStrategy::buckets) return {};
  const ScratchNeed sweep = draw.sweep_scratch();
  return {.most = std::max(sweep.most, sweep.kept + plan.scratch_bytes), .kept = sweep.kept};
}

DrawPlan with_source(DrawPlan plan, const ScratchNeed& source, const Draw& draw) {
  plan.read_bytes += source.most;
  plan.written_bytes += source.most;
  plan.scratch_bytes = std::max(source.most, source.kept + scratch_of(plan, draw).most);
  return plan;
}

std::unique_ptr<DrawnRows> open_drawn_rows(const LocatedRows& rows, const Draw& draw,
                                           const DrawLimits& limits, const Events& events) {
  const DrawPlan plan = plan_drawn_rows(rows.row_bytes(), rows.rows(), draw.rows(),
                                        limits.memory_bytes, draw.costs());
  if (plan.strategy != DrawStrategy::buckets)
    return open_gathered_rows(
        rows, draw, {limits.jobs, limits.memory_bytes, plan.strategy == DrawStrategy::memory},
        events);
  require_free_space(limits.scratch_folder, scratch_of(plan, draw).most);
  return open_bucketed_rows(rows, draw, {limits.jobs, limits.memory_bytes, limits.scratch_folder},
                            events);
}

}  // namespace shale
