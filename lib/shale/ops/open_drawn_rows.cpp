#include "shale/ops/open_drawn_rows.hpp"

#include <algorithm>

#include <sys/statvfs.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/bucketed_rows.hpp"
#include "shale/ops/gathered_rows.hpp"

namespace shale {

static_assert(kLeastDrawMemory >= std::max(kLeastGatherMemory, kLeastBucketMemory));

DrawPlan plan_drawn_rows(std::uint64_t row_bytes, std::uint64_t source_rows, std::uint64_t rows,
                         std::uint64_t memory_bytes, Draw::Costs costs) {
  const std::uint64_t source_bytes = source_rows * row_bytes, output_bytes = rows * row_bytes;
  // In floating point: an estimate may be larger than any integer. The output itself is written on
  // all roads.
  const auto real = [](std::uint64_t value) { return static_cast<double>(value); };
  const double seeking = real(rows) * (real(row_bytes) + real(kSeekBytes));
  const bool is_whole =
      fits_gather_memory(source_bytes, memory_bytes) && real(source_bytes) <= seeking;
  const DrawPlan gather{.road = is_whole ? DrawRoad::memory : DrawRoad::gather,
                        .passes = 1,
                        .read_bytes = is_whole ? source_bytes : output_bytes,
                        .written_bytes = output_bytes,
                        .scratch_bytes = 0};
  if (output_bytes == 0 || row_bytes > memory_bytes / kMostBucketRowShare) return gather;
  const double gathering =
      (is_whole ? real(source_bytes) : seeking) + real(rows) * real(costs.slot);
  const BucketPlan buckets = plan_buckets(row_bytes, rows, memory_bytes);
  const double dealing = real(source_bytes) + 2 * real(buckets.passes) * real(output_bytes) +
                         real(std::max(rows, source_rows)) * real(costs.step);
  if (gathering <= dealing) return gather;
  return {.road = DrawRoad::buckets,
          .passes = buckets.passes + 1,
          .read_bytes = source_bytes + buckets.passes * output_bytes,
          .written_bytes = (buckets.passes + 1) * output_bytes,
          .scratch_bytes = buckets.scratch_bytes};
}

std::unique_ptr<DrawnRows> open_drawn_rows(const LocatedRows& rows, const Draw& draw,
                                           const DrawLimits& limits, const Events& events) {
  const DrawPlan plan = plan_drawn_rows(rows.row_bytes(), rows.rows(), draw.rows(),
                                        limits.memory_bytes, draw.costs());
  if (plan.road != DrawRoad::buckets)
    return open_gathered_rows(
        rows, draw, {limits.jobs, limits.memory_bytes, plan.road == DrawRoad::memory}, events);
  require_free_space(limits.scratch_folder, plan.scratch_bytes);
  return open_bucketed_rows(rows, draw, {limits.jobs, limits.memory_bytes, limits.scratch_folder},
                            events);
}

void require_free_space(const std::string& folder, std::uint64_t bytes) {
  struct statvfs room {};
  if (bytes == 0 || ::statvfs(folder.c_str(), &room) != 0) return;  // the first write will tell
  const std::uint64_t free = room.f_bavail * room.f_frsize;
  if (bytes <= free) return;
  throw Error(Code::io, "{} are needed here, {} are free", format_size(bytes), format_size(free))
      .at(folder)
      .hint("make room, or choose another folder; --tmp moves what is temporary");
}

}  // namespace shale
