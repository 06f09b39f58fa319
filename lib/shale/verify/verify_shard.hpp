#pragma once

#include <cstdint>

#include "shale/format/format.hpp"
#include "shale/verify/index_window.hpp"
#include "shale/verify/shard_check.hpp"

// What a verification does where rows are fixed: there is no index, and no crc32c of each value.

namespace shale {

/// False if a shard that must have the class names has none, or others than the manifest.
/// Thread-safe. Errors: Code::io.
[[nodiscard]] bool has_class_names(const ShardCheck& shard, const Format& format);

/// Walks the container by its format's own scan and compares each row with the index. With
/// `reads_payload` the container's own checksums are proved too. `progress` is the scan's.
/// Thread-safe.
[[nodiscard]] TaskFindings verify_structure(const ShardCheck& shard, const Format& format,
                                            bool reads_payload, const WalkProgress& progress);

/// Scans some rows of a shard by a SplitScan of its format: true if there is nothing to find in
/// them, and the index says of each what the container does. Thread-safe.
[[nodiscard]] bool verify_split_rows(const ShardCheck& shard, const Format& format,
                                     const SplitScan& scan, const ScanRows& rows,
                                     bool reads_payload, IndexWindow& index,
                                     const WalkProgress& progress);

/// The fields whose values a deep check decodes: those that the manifest says are images; of a tar
/// of another tool `image`, whose files have the extensions of images.
[[nodiscard]] std::vector<std::size_t> decoded_fields(const Manifest& manifest);

/// Rows [begin, end) read by the index, their digests recomputed and their images decoded.
/// Thread-safe. Errors: Code::limit for a sample of a whole shard that memory cannot hold;
/// Code::interrupted; Code::io.
struct DeepResult {
  TaskFindings findings;
  std::uint64_t bad_when_written = 0;   ///< of them: images that are as they were written
  DatasetDigest digest;                 ///< of the rows that could be read
  std::uint64_t bytes = 0;              ///< of their values
  std::uint64_t undecodable_types = 0;  ///< images of types that shale has no decoder for
};
[[nodiscard]] DeepResult verify_rows(const ShardCheck& shard, const Format& format,
                                     std::uint64_t begin, std::uint64_t end);

/// How many rows a deep check of fixed rows takes at once: a few MiB of them, one at least.
[[nodiscard]] std::uint64_t fixed_rows_at_once(const ShardCheck& shard);

/// Rows [begin, end), no more than fixed_rows_at_once(): their numbers proved to be such, their
/// digests recomputed from the columns. Thread-safe. Errors: Code::limit for a row that is larger
/// than limits.large_bytes; Code::io.
[[nodiscard]] DeepResult verify_fixed_rows(const ShardCheck& shard, std::uint64_t begin,
                                           std::uint64_t end);

}  // namespace shale
