#include "shale/sampling/bucket_shape.hpp"

#include <algorithm>
#include <limits>

#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLeastExtent = 32 << 10, kMostExtent = 1 << 20;
constexpr std::uint64_t kMostArena = 4 << 20, kMostOutput = 64 << 20;
constexpr std::uint64_t kMostWrites = 32;  // extents that may be on their way to the disk
// What is lost in the first and last extent of a bucket stays below a quarter.
constexpr std::uint64_t kExtentsPerBucket = 8;
constexpr std::uint64_t kMostSpan = std::uint64_t{1} << 32;

/// Rows that `levels` levels of `fan` buckets each hold, of `span` rows in the last; no more than
/// `enough` is told.
std::uint64_t reach(std::uint64_t span, std::uint64_t fan, std::size_t levels,
                    std::uint64_t enough) {
  for (; levels > 0 && span < enough; --levels)
    span = fan > enough / span ? enough : std::min(enough, span * fan);
  return span;
}

/// The fewest buckets a level that hold all rows.
std::uint64_t least_fan(std::uint64_t span, std::size_t levels, std::uint64_t most,
                        std::uint64_t rows) {
  std::uint64_t least = 1;
  while (least < most) {
    const std::uint64_t middle = least + (most - least) / 2;
    if (reach(span, middle, levels, rows) >= rows) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

void require_room(std::uint64_t row_bytes, std::uint64_t memory_bytes) {
  if (memory_bytes < kLeastBucketMemory)
    throw Error(Code::bug, "buckets in {} bytes of memory, less than the minimum of {}",
                memory_bytes, kLeastBucketMemory);
  if (row_bytes <= memory_bytes / kMostBucketRowShare) return;
  throw Error(Code::limit, "rows of {} bytes are too large to sort in this memory, at most {}",
              row_bytes, memory_bytes / kMostBucketRowShare)
      .hint("raise --memory");
}

/// Sets the spans, of as few levels as will do, and returns the most buckets that are dealt to at
/// once, which are no more than `most_fan`.
std::uint64_t choose_spans(BucketShape& shape, std::uint64_t most_fan) {
  const std::uint64_t arenas = BucketShape::kMostReaders * shape.arena_bytes;
  const std::uint64_t output =
      std::min((shape.memory_bytes - arenas) / BucketShape::kOutputs, kMostOutput);
  const std::uint64_t rows = shape.rows, span = output / shape.row_bytes;
  std::size_t levels = 1;
  while (reach(span, most_fan, levels, rows) < rows) ++levels;
  const std::uint64_t fan = least_fan(span, levels, most_fan, rows);
  // All buckets alike, so that none is left with a few rows.
  shape.spans = {levels == 1 ? BucketShape::count(rows, BucketShape::count(rows, span)) : span};
  while (shape.spans.size() < levels) {
    // Whole buckets of the next level, no more rows than tags can tell apart.
    const std::uint64_t of = shape.spans.front();
    shape.spans.insert(shape.spans.begin(), of * std::min(fan, kMostSpan / of));
  }
  const std::uint64_t first_fan = BucketShape::count(rows, shape.spans[0]);
  if (first_fan > most_fan) {
    throw Error(Code::limit, "{} rows are too many to sort in this memory, at most {}", rows,
                most_fan * shape.spans[0])
        .hint("raise --memory");
  }
  return std::max(fan, first_fan);
}

}  // namespace

std::uint64_t BucketShape::scratch_bytes() const {
  // Of each bucket, the front of the first extent and the back of the last one may lie idle.
  std::uint64_t buckets = 0;
  for (const std::uint64_t span : spans) buckets += count(rows, span);
  const std::uint64_t idle = 2 * extent_bytes * (buckets + spans.size());
  // Rows that are dealt again stay in their old place until they have been read.
  const std::uint64_t twice = spans.size() > 1 ? memory_bytes : 0;
  return rows * entry_bytes() + idle + twice;
}

BucketShape shape_buckets(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t memory_bytes) {
  require_room(row_bytes, memory_bytes);
  BucketShape shape;
  shape.row_bytes = row_bytes;
  shape.rows = rows;
  shape.memory_bytes = memory_bytes;
  // Two pages more: pieces of a bucket begin and end within one.
  shape.arena_bytes = aligned_up(std::max(std::min(memory_bytes / 32, kMostArena),
                                          shape.entry_bytes() + 2 * kDirectAlignment));

  const std::uint64_t extents = memory_bytes / 2 / kLeastExtent;
  const std::uint64_t writes = std::min(extents / 4, kMostWrites);
  shape.buffers = static_cast<std::uint32_t>(choose_spans(shape, extents - writes) + writes);
  const std::uint64_t most_extent =
      std::clamp(aligned_down(shape.spans.back() * shape.entry_bytes() / kExtentsPerBucket),
                 kLeastExtent, kMostExtent);
  shape.extent_bytes =
      std::clamp(aligned_down(memory_bytes / 2 / shape.buffers), kLeastExtent, most_extent);
  if (shape.scratch_bytes() / shape.extent_bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Code::limit, "{} rows of {} bytes do not fit in {} extents of {} bytes", rows,
                row_bytes, std::numeric_limits<std::uint32_t>::max(), shape.extent_bytes)
        .hint("raise --memory");
  }
  return shape;
}

BucketPlan plan_buckets(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t memory_bytes) {
  if (row_bytes == 0 || rows == 0) return {};
  const BucketShape shape = shape_buckets(row_bytes, rows, memory_bytes);
  return {.passes = static_cast<unsigned>(shape.spans.size()),
          .scratch_bytes = shape.scratch_bytes()};
}

}  // namespace shale
