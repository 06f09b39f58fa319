#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shale/arrays/located_rows.hpp"
#include "shale/base/events.hpp"
#include "shale/sampling/bucket_shape.hpp"
#include "shale/sampling/draw.hpp"

namespace shale {

struct BucketLimits {
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 0;  ///< at least kLeastBucketMemory
  std::string scratch_folder;
};

/// The drawn rows through buckets: one sweep over the source deals each row to the bucket that
/// its slot belongs to, in a nameless scratch file; then each bucket is put in order in memory and
/// handed out, while the next ones are read. Buckets that outgrow the memory are dealt again. The
/// sweep, and the plan's other passes over all bytes, are made here; `events` gets the rows that
/// were dealt, of draw.rows() in each of these passes, and is asked whether to stop, then and
/// later: it must outlive the rows, as `rows` and `draw` must.
/// Errors: Code::io, also for a full disk; Code::damaged; Code::limit for a row larger than the
/// memory's kMostBucketRowShare-th part; Code::interrupted; same as plan_buckets.
[[nodiscard]] std::unique_ptr<DrawnRows> open_bucketed_rows(const LocatedRows& rows,
                                                            const Draw& draw,
                                                            const BucketLimits& limits,
                                                            const Events& events);

}  // namespace shale
