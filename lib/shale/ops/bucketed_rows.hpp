#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shale/ops/draw.hpp"
#include "shale/ops/drawn_rows.hpp"
#include "shale/ops/events.hpp"
#include "shale/ops/located_rows.hpp"

namespace shale {

/// The least memory that rows can be put in order with by way of buckets, and the largest row, as a
/// share of the memory.
inline constexpr std::uint64_t kLeastBucketMemory = 2 << 20;
inline constexpr std::uint64_t kMostBucketRowShare = 16;

/// What a run in buckets will take.
struct BucketPlan {
  unsigned passes = 1;              ///< over the bytes, the one that hands them out left out
  std::uint64_t scratch_bytes = 0;  ///< at most, at any moment
};

/// Reads and writes nothing. Errors: Code::limit for more rows than buckets can be made for.
[[nodiscard]] BucketPlan plan_buckets(std::uint64_t row_bytes, std::uint64_t rows,
                                      std::uint64_t memory_bytes);

struct BucketLimits {
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 0;  ///< at least kLeastBucketMemory
  std::string scratch_folder;
};

/// The drawn rows by way of buckets: one sweep over the source deals each row to the bucket that
/// its slot belongs to, in a nameless scratch file; then each bucket is put in order in memory and
/// handed out, while the next ones are read. Buckets that outgrow the memory are dealt again. The
/// sweep, and the plan's other passes over all bytes, are made here; `events` gets the rows that
/// were dealt, of draw.rows() in each of these passes, and is asked whether to stop, then and
/// later: it must outlive the rows, as `rows` and `draw` must.
/// Errors: Code::io, also for a full disk; Code::damaged; Code::limit for a row larger than the
/// memory's kMostBucketRowShare-th part; Code::interrupted; as plan_buckets.
[[nodiscard]] std::unique_ptr<DrawnRows> open_bucketed_rows(const LocatedRows& rows,
                                                            const Draw& draw,
                                                            const BucketLimits& limits,
                                                            const Events& events);

}  // namespace shale
