#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/loading/extent_reading.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// The hashes of the blocks of a shard's files: 16 bytes for each MiB.
class BlockHashes {
 public:
  BlockHashes() = default;
  /// Reads the block list and proves it by the hashes of the files that the manifest gives.
  /// Errors: Code::damaged for a list that is not that of these files; Code::not_found; Code::io.
  BlockHashes(const DatasetPaths& paths, const ManifestShard& shard);

  [[nodiscard]] std::span<const Hash128> of_file(std::size_t file) const {
    return std::span(hashes_).subspan(first_[file], first_[file + 1] - first_[file]);
  }

 private:
  std::vector<Hash128> hashes_;
  std::vector<std::uint64_t> first_ = {0};  // of each file, in hashes_; and their number
};

/// Reads extents out of whole blocks, each read once, hashed and compared first with what
/// Extent::blocks says; a wrong one is read once more, past the page cache. For files with
/// go_direct() or without. The extents must be in the order of files and offsets. Memory: the
/// arena, up to 16 MiB.
/// Errors: Code::damaged at the first extent that lies in a wrong block, with both hashes; same as
/// read_extents.
void read_proved(std::span<const Extent> extents, BatchReader& reader, AlignedBuffer& arena);

}  // namespace shale
