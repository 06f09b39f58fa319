#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shale {

/// Where a dataset is written, and how.
struct Destination {
  /// A directory of shards; or one file, by its suffix: .npy .npz .lmdb .h5 .tfrecord .tar .parquet
  /// .pt .safetensors.
  std::string path;
  std::string format = {};  ///< of shards: "record", "lmdb" ...; of one file its suffix says it
  /// The most bytes of each file of a shard, 1 GiB unless given, and samples of a shard.
  std::optional<std::uint64_t> shard_bytes = {}, shard_samples = {};
  /// Parquet: the most bytes of a row group, which its readers load as a whole; 100 MB unless
  /// given.
  std::optional<std::uint64_t> row_group_bytes = {};
  bool overwrite = false;   ///< replaces a finished dataset, once the new one is complete
  bool verify = false;      ///< reads the result back before it finishes
  bool with_index = false;  ///< of one file: its index is written beside it in the same pass
  /// "direct": writes bypass the page cache; "buffered": they use it; "auto", "": as it is best.
  std::string io = {};
};

/// What a job may take of the machine. The results do not depend on it.
struct Resources {
  unsigned jobs = 0;               ///< threads; 0: SHALE_JOBS, else the CPUs this process may use
  std::uint64_t memory_bytes = 0;  ///< at least 16 MiB; 0: SHALE_MEMORY, else 256 MiB, or less
                                   ///< where a quarter of what this process may use is less
};

/// A dataset that was written.
struct WrittenSet {
  std::string format;
  std::uint64_t samples = 0, shards = 0;
  std::uint64_t payload_bytes = 0;  ///< of the values
  std::uint64_t file_bytes = 0;     ///< of all shards and their indexes, or of the one file
  /// 32 hex digits each (docs/digests.md): of the samples in any order, and in this one.
  std::string content_digest, ordered_digest;
};

}  // namespace shale
