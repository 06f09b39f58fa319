#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "shale/format/format.hpp"
#include "shale/ops/verify_bytes.hpp"

namespace shale {

/// Walks the container by its format's own scan and compares each row with the index. With
/// `reads_payload` the container's own checksums are proved too. Thread-safe.
[[nodiscard]] std::vector<Finding> verify_structure(const ShardCheck& shard, const Format& format,
                                                    bool reads_payload);

/// What the workers of a deep check may hold: each a small sample, and one of them a large one.
struct SampleLimits {
  std::uint64_t small_bytes, large_bytes;
  std::mutex& one_large;
};

/// Rows [begin, end) read by the index, their digests recomputed and their images decoded.
struct DeepResult {
  std::vector<Finding> findings;
  DatasetDigest digest;                 ///< of the rows that could be read
  std::uint64_t undecodable_types = 0;  ///< images of types that shale has no decoder for
};
[[nodiscard]] DeepResult verify_rows(const ShardCheck& shard, const Format& format,
                                     std::uint64_t begin, std::uint64_t end,
                                     const SampleLimits& limits);

}  // namespace shale
