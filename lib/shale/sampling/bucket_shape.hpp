#pragma once

#include <cstdint>
#include <vector>

#include "shale/io/input_file.hpp"

namespace shale {

/// The least memory that rows can be put in order with through buckets, and the largest row, as a
/// share of the memory.
inline constexpr std::uint64_t kLeastBucketMemory = 2 << 20;
inline constexpr std::uint64_t kMostBucketRowShare = 16;

/// What stands before each row in a bucket: its slot, counted from the bucket's first.
using BucketTag = std::uint32_t;

/// How rows are dealt to buckets: in one level, or in levels whose buckets are dealt to smaller
/// ones in turn. The memory holds, one after the other,
///   dealing:  the buffers, one per bucket and those being written | whatever the rows come from
///   ordering: kOutputs buckets of rows                          | an arena for each reader
/// and dealing a bucket again, the buffers and the arenas.
struct BucketShape {
  static constexpr std::uint64_t kOutputs = 3;  ///< one handed out, two being filled
  static constexpr unsigned kMostReaders = 4;

  std::uint64_t row_bytes = 0, rows = 0, memory_bytes = 0;
  std::vector<std::uint64_t> spans;  ///< rows of a bucket of each level, the last put in order
  std::uint64_t extent_bytes = 0;
  std::uint32_t buffers = 0;
  std::uint64_t arena_bytes = 0;

  [[nodiscard]] std::uint64_t entry_bytes() const { return sizeof(BucketTag) + row_bytes; }
  /// Of buckets of `span` rows that hold `of_rows`.
  [[nodiscard]] static std::uint64_t count(std::uint64_t of_rows, std::uint64_t span) {
    return of_rows / span + (of_rows % span != 0);
  }
  /// Of what dealing leaves beside the buffers.
  [[nodiscard]] std::uint64_t source_bytes() const { return memory_bytes / 2; }
  [[nodiscard]] std::uint64_t scratch_bytes() const;
};

/// Of rows that have bytes; at least one.
/// Errors: Code::limit for a row that is too large, and for more rows than buckets can be made for;
/// Code::bug for less memory than kLeastBucketMemory.
[[nodiscard]] BucketShape shape_buckets(std::uint64_t row_bytes, std::uint64_t rows,
                                        std::uint64_t memory_bytes);

/// What a run in buckets will take.
struct BucketPlan {
  unsigned passes = 1;              ///< over the bytes, the one that hands them out left out
  std::uint64_t scratch_bytes = 0;  ///< at most, at any moment
};

/// Reads and writes nothing. Errors: Code::limit for more rows than buckets can be made for.
[[nodiscard]] BucketPlan plan_buckets(std::uint64_t row_bytes, std::uint64_t rows,
                                      std::uint64_t memory_bytes);

}  // namespace shale
