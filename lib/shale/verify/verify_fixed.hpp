#pragma once

#include <cstdint>

#include "shale/verify/verify_shard.hpp"

// What a verification does where rows are fixed: there is no index, and no crc32c of each value.

namespace shale {

/// How many rows a deep check of fixed rows takes at once: a few MiB of them, one at least.
[[nodiscard]] std::uint64_t fixed_rows_at_once(const ShardCheck& shard);

/// Rows [begin, end), no more than fixed_rows_at_once(): their numbers proved to be such, their
/// digests recomputed from the columns. Thread-safe. Errors: Code::limit for a row that is larger
/// than limits.large_bytes; Code::io.
[[nodiscard]] DeepResult verify_fixed_rows(const ShardCheck& shard, std::uint64_t begin,
                                           std::uint64_t end);

}  // namespace shale
