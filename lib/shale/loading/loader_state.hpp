#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "shale/base/error.hpp"
#include "shale/io/aligned_buffer.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/loading/block_proof.hpp"
#include "shale/loading/extent_reading.hpp"
#include "shale/loading/load_request.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// A shard that a loader has open.
struct OpenShard {
  ShardReader reader;
  bool is_direct = false;                  ///< its data files are read past the page cache
  std::optional<BlockHashes> blocks = {};  ///< where they are what proves a value

  /// An extent of one of its data files, with the hashes that prove it.
  [[nodiscard]] Extent extent(const InputFile& file, std::uint64_t offset,
                              std::span<std::byte> into) const;
};
using OpenShardPointer = std::shared_ptr<const OpenShard>;

/// Gives the page cache of extents back, in whole `unit`s; they must be in the order of files and
/// offsets.
void drop_cache(std::span<const Extent> extents, std::uint64_t unit = kDirectAlignment);

/// What one process holds open of a dataset. Thread-safe.
class LoaderState {
 public:
  struct Setting {
    const DatasetPaths& paths;
    const ManifestOutline& outline;
    const std::string& self_hash;
    const std::vector<ManifestShard>& held_shards;    ///< empty: the manifest has them
    const std::vector<FileFingerprint>& file_states;  ///< of a set: of the files of all shards
    const std::string& file;  ///< of another tool; empty: a dataset of shale
    FileStamp stamp;          ///< of that file, or of the manifest, before it was opened
    CachePolicy cache;
    bool proves_indexes;  ///< by their hashes, once for each shard
    bool proves_blocks;   ///< by the block lists: there is no crc32c of each value
  };
  explicit LoaderState(const Setting& setting);

  [[nodiscard]] pid_t process() const { return process_; }
  /// False: what was read of an index is to be given back at once.
  [[nodiscard]] bool keeps_index_cached() const { return keeps_index_cached_; }
  /// One stat, unless the files of the dataset were touched. A set that was appended to begins with
  /// the one that was opened: reading goes on. Errors: Code::mismatch if the files are not those
  /// that were opened: a set that was replaced or removed, a file of another tool that has
  /// other content now.
  void refuse_changes();
  /// Reads extents of data files, as the cache policy says, and proves those that bring the hashes
  /// of their blocks.
  /// They must be in the order of files and offsets, and their shards held by the caller.
  /// Errors: same as read_extents and read_proved.
  void read(std::span<const Extent> extents, bool is_direct);
  /// In a forked child: gives back the descriptors that came with the fork. Nothing else of the
  /// state may be touched there, it may have been caught in the middle of a change.
  void abandon();

  /// Stays open as long as the pointer lives. Waits while other threads use all that may be open,
  /// so the caller must hold no other one than this. Where no more descriptors can be had, those
  /// that nobody uses are closed. Errors: same as ShardReader, prove_file and refuse_changes.
  [[nodiscard]] OpenShardPointer shard(std::uint64_t number);
  /// The same for a caller that holds others: null instead of waiting, or for want of descriptors.
  [[nodiscard]] OpenShardPointer try_shard(std::uint64_t number);
  /// What the manifest says of a shard, which is not opened. Errors: Code::mismatch if the manifest
  /// is another one than it was; Code::damaged; Code::io.
  [[nodiscard]] ManifestShard facts_of(std::uint64_t number);

  /// What a batch is read with: one thread's until it is put back. Few at a time, each has a
  /// descriptor: who takes one may hold shards, who holds one must not ask for shards.
  struct ReadContext {
    BatchReader reader;
    AlignedBuffer arena;  ///< for reads past the page cache
  };
  struct PutBack {
    LoaderState* state;
    void operator()(ReadContext* context) const { state->put_back(context); }
  };
  using ReadLease = std::unique_ptr<ReadContext, PutBack>;
  [[nodiscard]] ReadLease take_context();

 private:
  struct Entry {
    std::uint64_t number = 0, last_use = 0, users = 0;
    std::unique_ptr<const OpenShard> shard;  // null: a thread is opening it, its only user
  };
  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] OpenShardPointer shard_while_locked(std::uint64_t number, Lock& lock);
  [[nodiscard]] bool make_room();
  void give_back(const OpenShard* shard);
  void open_entry(Entry& entry, Lock& lock);
  [[nodiscard]] std::unique_ptr<const OpenShard> open(std::uint64_t number);
  void prepare(OpenShard& shard, bool is_proved) const;
  void read_open(std::span<const Extent> extents, bool is_direct);
  void read_closed(std::span<const Extent> extents);
  std::size_t read_some_files(std::span<const Extent> extents);
  [[nodiscard]] std::optional<ManifestOutline> outline_appended_to(const InputFile& manifest) const;
  [[nodiscard]] std::optional<Error> change_of(const std::string& opened);
  [[nodiscard]] std::optional<Error> change_of_listed(std::size_t place, const InputFile& file);
  void put_back(ReadContext* context);
  void track_descriptors(const OpenShard& shard, bool are_open);
  void track_descriptor(const InputFile& file, bool is_open);

  Setting setting_;
  pid_t process_;
  std::size_t most_shards_;
  bool keeps_files_open_;  // else a shard has too many: they are opened for each read
  bool keeps_index_cached_;
  std::mutex mutex_, closed_reads_;
  std::condition_variable shard_is_free_, context_is_free_;
  std::optional<InputFile> manifest_;
  std::optional<ManifestOutline> appended_;  // of manifest_, if it is not the one that was opened
  std::list<Entry> entries_;
  std::vector<bool> is_proved_;  // indexes, by shard
  std::uint64_t uses_ = 0;
  std::vector<std::unique_ptr<ReadContext>> contexts_;
  std::size_t contexts_in_use_ = 0;
  std::mutex stamp_mutex_;
  FileStamp stamp_;
  std::vector<FileStamp> listed_stamps_;  // of the files of a list, once they are proved
  // Those of the manifest and the entries, or -1. A number stands here only while it is open, after
  // what it was opened on: a child closes what it finds, unless it was opened by somebody else.
  struct TrackedDescriptor {
    std::atomic<int> descriptor = -1;
    std::atomic<dev_t> device = 0;
    std::atomic<ino_t> inode = 0;
  };
  std::vector<TrackedDescriptor> tracked_;
};

}  // namespace shale
