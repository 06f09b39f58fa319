#include "shale/ops/loader_state.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// How many batches are read at the same time, by as many threads: a ring has a descriptor.
constexpr std::size_t kMostBenches = 3;
// Besides shards: the manifest, an index in memory, a second look past the cache, rings, and rings
// that came along with a fork.
constexpr std::size_t kOtherDescriptors = 3 + 2 * kMostBenches;
// A small index is asked for whole when its shard is first touched: the rows of an epoch then cost
// no random reads of their own.
constexpr std::uint64_t kSmallIndexBytes = 4 << 20;
// Indexes that are larger altogether are given back as the payload is, where that is asked for: 64
// MiB stay in the page cache at most, however many processes read.
constexpr std::uint64_t kMostIndexBytesKept = 64 << 20;
constexpr std::uint32_t kReadsInFlight = 64;

}  // namespace

void drop_cache(std::span<const Extent> extents, std::uint64_t unit) {
  const InputFile* file = nullptr;
  std::uint64_t begin = 0, end = 0;
  for (const Extent& extent : extents) {
    const std::uint64_t next = extent.offset / unit * unit;
    const std::uint64_t stop = (extent.offset + extent.into.size() + unit - 1) / unit * unit;
    // Small gaps have been read too, where neighbours were joined.
    if (extent.file != file || next > end + kDirectAlignment) {
      if (file != nullptr) file->drop_cache(begin, end - begin);
      file = extent.file;
      begin = next;
      end = stop;
    }
    end = std::max(end, stop);
  }
  if (file != nullptr) file->drop_cache(begin, end - begin);
}

Extent OpenShard::extent(const InputFile& file, std::uint64_t offset,
                         std::span<std::byte> into) const {
  Extent extent{&file, offset, into};
  if (blocks)
    extent.blocks = blocks->of_file(static_cast<std::size_t>(&file - reader.files().data()));
  return extent;
}

LoaderState::LoaderState(const Setting& setting) : setting_(setting), process_(::getpid()) {
  const Manifest& manifest = setting.outline.manifest;
  const std::size_t indexes = manifest.layout.has_fixed_rows ? 0 : 1;
  const std::size_t descriptors_a_shard =
      indexes + std::max<std::size_t>(1, manifest.layout.file_suffixes.size());
  most_shards_ = std::max<std::size_t>(
      1, (Loader::kMostDescriptors - kOtherDescriptors) / descriptors_a_shard);
  // A shard of very many files needs more than that alone.
  noted_ = std::vector<Noted>(kOtherDescriptors + most_shards_ * descriptors_a_shard);
  const std::uint64_t row_bytes = IndexColumns(manifest.schema, manifest.layout).row_bytes();
  keeps_index_cached_ = setting.cache == CachePolicy::keep || indexes == 0 ||
                        manifest.digest.samples <= kMostIndexBytesKept / row_bytes;
}

void LoaderState::read(std::span<const Extent> extents, bool is_direct) {
  if (setting_.proves_blocks) {
    const BenchLease bench(*this);
    read_proved(extents, bench->reader, bench->arena);
  } else if (extents.size() == 1 && !is_direct) {
    read_extent(extents[0]);
  } else {
    const BenchLease bench(*this);
    if (is_direct) {
      read_extents_direct(extents, bench->reader, bench->arena);
    } else {
      read_extents(extents, bench->reader, bench->arena);
    }
  }
  if (setting_.cache == CachePolicy::keep || is_direct) return;
  drop_cache(extents, setting_.proves_blocks ? kBlockBytes : kDirectAlignment);
}

void LoaderState::abandon() {
  for (Noted& noted : noted_) {
    const int open = noted.descriptor.exchange(-1);
    struct stat now {};
    // A daemon closes all that it was born with, and the number may stand for a file of its own.
    if (open < 0 || ::fstat(open, &now) != 0) continue;
    if (now.st_dev == noted.device && now.st_ino == noted.inode) ::close(open);
  }
}

OpenShardPointer LoaderState::shard(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (OpenShardPointer found = shard_while_locked(number)) return found;
    shard_is_free_.wait(lock);
  }
}

OpenShardPointer LoaderState::try_shard(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return shard_while_locked(number);
}

OpenShardPointer LoaderState::shard_while_locked(std::uint64_t number) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& open) { return open.number == number; });
  if (entry == entries_.end()) {
    if (entries_.size() == most_shards_ && !make_room()) return nullptr;
    std::unique_ptr<const OpenShard> opened = open(number);
    note_descriptors(*opened, true);
    entries_.push_back({number, 0, 0, std::move(opened)});
    entry = std::prev(entries_.end());
  }
  entry->last_use = ++uses_;
  ++entry->users;
  return {entry->shard.get(), [this](const OpenShard* shard) { give_back(shard); }};
}

// Closes the least recently used of those that nobody uses. False if all are in use.
bool LoaderState::make_room() {
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.users > 0, a.last_use) < std::pair(b.users > 0, b.last_use);
      });
  if (oldest->users > 0) return false;
  note_descriptors(*oldest->shard, false);
  entries_.erase(oldest);
  return true;
}

void LoaderState::give_back(const OpenShard* shard) {
  const std::lock_guard lock(mutex_);
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& open) { return open.shard.get() == shard; });
  --entry->users;
  if (entry->users == 0) shard_is_free_.notify_all();
}

ManifestShard LoaderState::facts_of(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return facts_while_locked(number);
}

ManifestShard LoaderState::facts_while_locked(std::uint64_t number) {
  if (setting_.only_shard) return *setting_.only_shard;
  if (!manifest_) {
    manifest_.emplace(setting_.paths.manifest);
    if (self_hash_of(*manifest_) != setting_.self_hash) {
      manifest_.reset();
      throw Error(Code::mismatch, "the dataset is another one than when it was opened")
          .at(setting_.paths.manifest)
          .hint("open it again");
    }
    note_descriptor(*manifest_, true);
  }
  return read_shard_line(*manifest_, setting_.outline.shards[number]);
}

std::unique_ptr<const OpenShard> LoaderState::open(std::uint64_t number) {
  auto shard = std::make_unique<OpenShard>(OpenShard{
      ShardReader(setting_.paths, setting_.outline.manifest, facts_while_locked(number))});
  if (setting_.proves_blocks) shard->blocks.emplace(setting_.paths, shard->reader.shard());
  if (const InputFile* index = shard->reader.index_file()) {
    (void)shard->reader.open_index();  // proves its header and size
    if (keeps_index_cached_ && index->size() <= kSmallIndexBytes) {
      index->prefetch(0, index->size());
    } else {
      index->expect_random_reads();
    }
  }
  shard->is_direct = setting_.cache == CachePolicy::direct;
  for (const InputFile& file : shard->reader.files()) {
    file.expect_random_reads();
    shard->is_direct = shard->is_direct && file.go_direct();
  }
  return shard;
}

void LoaderState::note_descriptors(const OpenShard& shard, bool are_open) {
  if (shard.reader.index_file() != nullptr) note_descriptor(*shard.reader.index_file(), are_open);
  for (const InputFile& file : shard.reader.files()) note_descriptor(file, are_open);
}

void LoaderState::note_descriptor(const InputFile& file, bool is_open) {
  const int wanted = is_open ? -1 : file.descriptor();
  struct stat status {};
  if (is_open && ::fstat(file.descriptor(), &status) != 0) return;
  for (Noted& noted : noted_) {
    if (noted.descriptor != wanted) continue;
    if (is_open) {
      noted.device = status.st_dev;
      noted.inode = status.st_ino;
    }
    noted.descriptor = is_open ? file.descriptor() : -1;
    return;
  }
}

std::unique_ptr<LoaderState::Bench> LoaderState::take_bench() {
  std::unique_ptr<Bench> bench;
  {
    std::unique_lock lock(mutex_);
    bench_is_free_.wait(lock, [this] { return benches_in_use_ < kMostBenches; });
    if (!benches_.empty()) {
      bench = std::move(benches_.back());
      benches_.pop_back();
    }
    ++benches_in_use_;
  }
  try {
    if (bench == nullptr)
      bench = std::make_unique<Bench>(Bench{BatchReader({.depth = kReadsInFlight}), {}});
  } catch (...) {
    put_back(nullptr);
    throw;
  }
  return bench;
}

void LoaderState::put_back(std::unique_ptr<Bench> bench) {
  // After an error its reads may still be in flight.
  if (std::uncaught_exceptions() > 0) bench.reset();
  const std::lock_guard lock(mutex_);
  if (bench != nullptr && benches_.size() < kMostBenches) benches_.push_back(std::move(bench));
  bench.reset();
  --benches_in_use_;
  bench_is_free_.notify_one();
}

}  // namespace shale
