#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "shale/io/aligned_buffer.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/ops/loader.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// A shard that a loader has open.
struct OpenShard {
  ShardReader reader;
  bool is_direct = false;  ///< its data files are read past the page cache
};
using OpenShardPointer = std::shared_ptr<const OpenShard>;

/// What one process holds open of a dataset. Thread-safe.
class LoaderState {
 public:
  struct Setting {
    const DatasetPaths& paths;
    const ManifestOutline& outline;
    const std::string& self_hash;
    const std::optional<ManifestShard>& only_shard;
    CachePolicy cache;
  };
  explicit LoaderState(const Setting& setting);

  [[nodiscard]] pid_t process() const { return process_; }
  /// In a forked child: gives back the descriptors that came with the fork. Nothing else of the
  /// state may be touched there, it may have been caught in the middle of a change.
  void abandon();

  /// Stays open as long as the pointer lives. Errors: as ShardReader.
  [[nodiscard]] OpenShardPointer shard(std::uint64_t number);
  /// What the manifest says of a shard, which is not opened. Errors: Code::mismatch if the manifest
  /// is another one than it was; Code::damaged; Code::io.
  [[nodiscard]] ManifestShard facts_of(std::uint64_t number);
  /// How many shards stay open at the same time.
  [[nodiscard]] std::size_t most_shards() const { return most_shards_; }

  /// What a batch is read with: one thread's until it is put back.
  struct Bench {
    BatchReader reader;
    AlignedBuffer arena;  ///< for reads past the page cache
  };
  [[nodiscard]] std::unique_ptr<Bench> take_bench();
  void put_back(std::unique_ptr<Bench> bench);

 private:
  struct Entry {
    std::uint64_t number = 0, last_use = 0;
    OpenShardPointer shard;
  };
  [[nodiscard]] OpenShardPointer open(std::uint64_t number);
  [[nodiscard]] ManifestShard facts_while_locked(std::uint64_t number);
  void note_descriptors(const OpenShard& shard, bool are_open);

  Setting setting_;
  pid_t process_;
  std::size_t most_shards_;
  std::mutex mutex_;
  std::optional<InputFile> manifest_;
  std::vector<Entry> entries_;
  std::uint64_t uses_ = 0;
  std::vector<std::unique_ptr<Bench>> benches_;
  // Those of the entries, or -1. A number stands here only while it is open, so that a child may
  // close what it finds.
  std::array<std::atomic<int>, Loader::kMostDescriptors> descriptors_;
};

}  // namespace shale
