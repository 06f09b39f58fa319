#include "shale/ops/loader_state.hpp"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// Besides shards: the manifest, an index in memory, and rings.
constexpr std::size_t kOtherDescriptors = 4;
// A small index is asked for whole when its shard is first touched: the rows of an epoch then cost
// no random reads of their own.
constexpr std::uint64_t kSmallIndexBytes = 4 << 20;
constexpr std::uint32_t kReadsInFlight = 64;

}  // namespace

LoaderState::LoaderState(const Setting& setting) : setting_(setting), process_(::getpid()) {
  const std::size_t descriptors_a_shard =
      1 + std::max<std::size_t>(1, setting.outline.manifest.layout.file_suffixes.size());
  most_shards_ = std::max<std::size_t>(
      1, (Loader::kMostDescriptors - kOtherDescriptors) / descriptors_a_shard);
  for (std::atomic<int>& descriptor : descriptors_) descriptor = -1;
}

void LoaderState::abandon() {
  for (std::atomic<int>& descriptor : descriptors_) {
    if (const int open = descriptor.exchange(-1); open >= 0) ::close(open);
  }
}

OpenShardPointer LoaderState::shard(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  ++uses_;
  for (Entry& entry : entries_) {
    if (entry.number != number) continue;
    entry.last_use = uses_;
    return entry.shard;
  }
  if (entries_.size() == most_shards_) {
    const auto oldest =
        std::min_element(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.last_use < b.last_use; });
    note_descriptors(*oldest->shard, false);
    entries_.erase(oldest);
  }
  OpenShardPointer opened = open(number);
  note_descriptors(*opened, true);
  entries_.push_back({number, uses_, opened});
  return opened;
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
  }
  return read_shard_line(*manifest_, setting_.outline.shards[number]);
}

OpenShardPointer LoaderState::open(std::uint64_t number) {
  auto shard = std::make_shared<OpenShard>(OpenShard{
      ShardReader(setting_.paths, setting_.outline.manifest, facts_while_locked(number)), false});
  (void)shard->reader.open_index();  // proves its header and size
  const InputFile& index = shard->reader.index_file();
  if (index.size() <= kSmallIndexBytes) {
    index.prefetch(0, index.size());
  } else {
    index.expect_random_reads();
  }
  shard->is_direct = setting_.cache == CachePolicy::direct;
  for (const InputFile& file : shard->reader.files()) {
    file.expect_random_reads();
    shard->is_direct = shard->is_direct && file.go_direct();
  }
  return shard;
}

void LoaderState::note_descriptors(const OpenShard& shard, bool are_open) {
  const auto note = [&](const InputFile& file) {
    int expected = are_open ? -1 : file.descriptor();
    const int wanted = are_open ? file.descriptor() : -1;
    for (std::atomic<int>& descriptor : descriptors_) {
      int found = expected;
      if (descriptor.compare_exchange_strong(found, wanted)) return;
    }
  };
  note(shard.reader.index_file());
  for (const InputFile& file : shard.reader.files()) note(file);
}

std::unique_ptr<LoaderState::Bench> LoaderState::take_bench() {
  {
    const std::lock_guard lock(mutex_);
    if (!benches_.empty()) {
      std::unique_ptr<Bench> bench = std::move(benches_.back());
      benches_.pop_back();
      return bench;
    }
  }
  return std::make_unique<Bench>(Bench{BatchReader({.depth = kReadsInFlight}), {}});
}

void LoaderState::put_back(std::unique_ptr<Bench> bench) {
  const std::lock_guard lock(mutex_);
  if (benches_.empty()) benches_.push_back(std::move(bench));
}

}  // namespace shale
