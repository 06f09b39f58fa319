#include "shale/loading/loader_state.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <iterator>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_fingerprint.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/rebuild_hint.hpp"

namespace shale {
namespace {

// How many batches are read at the same time, by as many threads: a ring has a descriptor.
constexpr std::size_t kMostContexts = 3;
// Of a shard that has more files than may be open.
constexpr std::size_t kFilesAtOnce = 32, kMostClosedShards = 4;
// Besides shards: the manifest, an index in memory, a second look past the cache, rings, and rings
// that came along with a fork.
constexpr std::size_t kOtherDescriptors = 3 + 2 * kMostContexts;
// A small index is asked for whole when its shard is first touched: the rows of an epoch then cost
// no random reads of their own.
constexpr std::uint64_t kSmallIndexBytes = 4 << 20;
// Indexes that are larger altogether are given back as the payload is, where that is requested: 64
// MiB stay in the page cache at most, however many processes read.
constexpr std::uint64_t kMostIndexBytesKept = 64 << 20;
constexpr std::uint32_t kReadsInFlight = 64;

// Between two looks at it another set, or another index of the file, may take its place.
Error replaced(const LoaderState::Setting& setting) {
  return replaced_dataset(setting.file.empty() ? setting.paths.manifest : setting.file);
}

InputFile open_manifest(const LoaderState::Setting& setting) try {
  return InputFile(setting.paths.manifest);
} catch (const Error& error) {
  if (error.code() != Code::not_found) throw;
  throw replaced(setting);
}

// Its lists come to their names before the manifest that they belong to.
void refuse_other_index(const LoaderState::Setting& setting) {
  if (setting.file.empty() || !setting.held_shards.empty()) return;
  if (self_hash_of(open_manifest(setting)) != setting.self_hash) throw replaced(setting);
}

Error changed_since_opened(const std::string& file, std::string_view change) {
  return Error(Code::mismatch, "has changed since it was opened: {}", change)
      .at(file)
      .hint("open it again, and do not write to a file while it is read");
}

Error changed_since_indexed(const std::string& lists, const std::string& file,
                            std::string_view change) {
  return changed_file(file, fmt::format("it has the same size, but {}", change))
      .hint(fmt::format("run '{}': it indexes the changed files again",
                        rebuild_command(lists, file)));
}

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

LoaderState::LoaderState(const Setting& setting)
    : setting_(setting), process_(::getpid()), stamp_(setting.stamp) {
  const Manifest& manifest = setting.outline.manifest;
  const std::size_t indexes = manifest.layout.rows.has_index() ? 1 : 0;
  std::size_t descriptors_a_shard = indexes +
                                    std::max<std::size_t>(1, manifest.layout.file_suffixes.size()) +
                                    (manifest.layout.has_values ? 1 : 0);
  constexpr std::size_t kOfShards = kMostDescriptors - kOtherDescriptors;
  keeps_files_open_ = descriptors_a_shard <= kOfShards;
  if (!keeps_files_open_) descriptors_a_shard = indexes + 1;
  most_shards_ = keeps_files_open_ ? std::max<std::size_t>(1, kOfShards / descriptors_a_shard)
                                   : kMostClosedShards;
  tracked_ = std::vector<TrackedDescriptor>(kOtherDescriptors + most_shards_ * descriptors_a_shard);
  is_proved_.resize(setting.outline.shards.size());
  listed_stamps_.resize(setting.file_states.size());
  const std::uint64_t row_bytes = IndexColumns(manifest.schema, manifest.layout).row_bytes();
  keeps_index_cached_ = setting.cache == CachePolicy::keep || indexes == 0 ||
                        manifest.digest.samples <= kMostIndexBytesKept / row_bytes;
}

void LoaderState::read(std::span<const Extent> extents, bool is_direct) {
  if (keeps_files_open_) return read_open(extents, is_direct);
  read_closed(extents);
}

// Some files after the others, one thread at a time.
void LoaderState::read_closed(std::span<const Extent> extents) {
  const std::lock_guard lock(closed_reads_);
  try {
    while (!extents.empty()) extents = extents.subspan(read_some_files(extents));
  } catch (const Error&) {
    refuse_changes();  // a set that was replaced or removed is the cause that counts
    throw;
  }
  // The files that were open belonged to this manifest, which those opened now need not.
  refuse_changes();
}

// As many of the first extents as so many files have; returns how many those are.
std::size_t LoaderState::read_some_files(std::span<const Extent> extents) {
  std::deque<InputFile> files;
  std::vector<Extent> some;
  some.reserve(extents.size());
  bool is_direct = false;
  const InputFile* file = nullptr;
  for (const Extent& extent : extents) {
    if (extent.file != file) {
      if (files.size() == kFilesAtOnce) break;
      InputFile opened(extent.file->path());
      opened.expect_random_reads();
      const bool goes_direct = setting_.cache == CachePolicy::direct && opened.go_direct();
      if (files.empty()) is_direct = goes_direct;
      if (goes_direct != is_direct) break;  // on another file system: read by itself, next
      files.push_back(std::move(opened));
      file = extent.file;
    }
    some.push_back(extent);
    some.back().file = &files.back();
  }
  read_open(some, is_direct);
  return some.size();
}

void LoaderState::read_open(std::span<const Extent> extents, bool is_direct) {
  const bool is_proved =
      std::ranges::any_of(extents, [](const Extent& extent) { return !extent.blocks.empty(); });
  if (is_proved) {
    const ReadLease context = take_context();
    read_proved(extents, context->reader, context->arena);
  } else if (extents.size() == 1 && !is_direct) {
    read_extent(extents[0]);
  } else {
    const ReadLease context = take_context();
    if (is_direct) {
      read_extents_direct(extents, context->reader, context->arena);
    } else {
      read_extents(extents, context->reader, context->arena);
    }
  }
  if (setting_.cache == CachePolicy::keep || is_direct) return;
  drop_cache(extents, is_proved ? kBlockBytes : kDirectAlignment);
}

void LoaderState::abandon() {
  for (TrackedDescriptor& tracked : tracked_) {
    const int open = tracked.descriptor.exchange(-1);
    struct stat now {};
    // A daemon closes all that it was born with, and the number may stand for a file of its own, or
    // for the same file that another loader has opened since: that one has another position.
    if (open < 0 || ::fstat(open, &now) != 0) continue;
    if (now.st_dev != tracked.device || now.st_ino != tracked.inode) continue;
    if (::lseek(open, 0, SEEK_CUR) == process_) ::close(open);
  }
}

OpenShardPointer LoaderState::shard(std::uint64_t number) {
  Lock lock(mutex_);
  while (true) {
    if (OpenShardPointer found = shard_while_locked(number, lock)) return found;
    shard_is_free_.wait(lock);
  }
}

OpenShardPointer LoaderState::try_shard(std::uint64_t number) {
  Lock lock(mutex_);
  try {
    return shard_while_locked(number, lock);
  } catch (const Error& error) {
    if (error.code() != Code::io) throw;
    return nullptr;  // perhaps for want of descriptors: the caller gives back what it holds
  }
}

OpenShardPointer LoaderState::shard_while_locked(std::uint64_t number, Lock& lock) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& open) { return open.number == number; });
  if (entry == entries_.end()) {
    if (entries_.size() >= most_shards_ && !make_room()) return nullptr;
    entry = entries_.insert(entries_.end(), Entry{number, 0, 1, nullptr});
    try {
      open_entry(*entry, lock);
    } catch (...) {
      entries_.erase(entry);
      shard_is_free_.notify_all();
      throw;
    }
    entry->users = 0;
    shard_is_free_.notify_all();
  }
  if (entry->shard == nullptr) return nullptr;
  entry->last_use = ++uses_;
  ++entry->users;
  return {entry->shard.get(), [this](const OpenShard* shard) { give_back(shard); }};
}

// Without the lock: other threads read other shards in the meantime. It is held again at the end,
// however it ends.
void LoaderState::open_entry(Entry& entry, Lock& lock) {
  while (entry.shard == nullptr) {
    lock.unlock();
    try {
      std::unique_ptr<const OpenShard> opened = open(entry.number);
      lock.lock();
      entry.shard = std::move(opened);
    } catch (const Error& error) {
      lock.lock();
      if (error.code() != Code::io || !make_room()) throw;
    } catch (...) {
      lock.lock();
      throw;
    }
  }
}

// Closes the least recently used of those that nobody uses. False if all are in use.
bool LoaderState::make_room() {
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return std::pair(a.users > 0, a.last_use) < std::pair(b.users > 0, b.last_use);
      });
  if (oldest == entries_.end() || oldest->users > 0) return false;
  track_descriptors(*oldest->shard, false);
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
  if (!setting_.held_shards.empty()) return setting_.held_shards[number];
  {
    const std::lock_guard lock(mutex_);
    if (!manifest_) {
      InputFile manifest = open_manifest(setting_);
      if (self_hash_of(manifest) != setting_.self_hash) {
        appended_ = outline_appended_to(manifest);
        if (!appended_) throw replaced(setting_);
      }
      manifest_.emplace(std::move(manifest));
      track_descriptor(*manifest_, true);
    }
  }
  return read_shard_line(*manifest_, appended_ ? *appended_ : setting_.outline, number);
}

std::unique_ptr<const OpenShard> LoaderState::open(std::uint64_t number) try {
  auto shard = std::make_unique<OpenShard>(OpenShard{
      ShardReader(setting_.paths, setting_.outline.manifest, facts_of(number), keeps_files_open_)});
  bool is_proved = !setting_.proves_indexes || !setting_.held_shards.empty();
  {
    const std::lock_guard lock(mutex_);
    track_descriptors(*shard, true);
    is_proved = is_proved || is_proved_[number];
  }
  try {
    if (!setting_.file_states.empty()) {
      const auto files = shard->reader.files().first(shard->reader.shard().files.size());
      for (std::size_t i = 0; i < files.size(); ++i) {
        if (auto change = change_of_listed(number * files.size() + i, files[i])) throw *change;
      }
    }
    prepare(*shard, is_proved);
    // As the last: what was opened before belongs to this manifest, or to this file.
    refuse_changes();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    track_descriptors(*shard, false);
    throw;
  }
  const std::lock_guard lock(mutex_);
  is_proved_[number] = true;
  return shard;
} catch (const Error& error) {
  if (error.code() == Code::damaged) refuse_other_index(setting_);
  throw;
}

// Reading all parts of the fingerprint takes longer than a row: once it is right, the stamp tells.
std::optional<Error> LoaderState::change_of_listed(std::size_t place, const InputFile& file) {
  if (setting_.file_states[place] == FileFingerprint{}) return std::nullopt;
  const std::optional<FileStamp> stamp = stamp_of(file.path());
  {
    const std::lock_guard lock(stamp_mutex_);
    if (stamp && *stamp == listed_stamps_[place]) return std::nullopt;
  }
  if (const auto difference = first_difference(setting_.file_states[place], fingerprint_of(file)))
    return setting_.file.empty()
               ? changed_since_indexed(setting_.paths.lists, file.path(), *difference)
               : changed_since_opened(file.path(), *difference);
  // Of a file that was replaced just now it would be the next one's.
  if (!stamp || stamp != stamp_of(file.path()) || stamp->bytes != file.size()) return std::nullopt;
  const std::lock_guard lock(stamp_mutex_);
  listed_stamps_[place] = *stamp;
  return std::nullopt;
}

void LoaderState::prepare(OpenShard& shard, bool is_proved) const {
  if (setting_.proves_blocks) shard.blocks.emplace(setting_.paths, shard.reader.shard());
  if (const InputFile* index = shard.reader.index_file()) {
    (void)shard.reader.open_index();  // proves its header and size
    if (!is_proved) shard.reader.prove_index();
    if (keeps_index_cached_ && index->size() <= kSmallIndexBytes) {
      if (is_proved) index->prefetch(0, index->size());
    } else {
      if (!keeps_index_cached_) index->drop_cache(0, index->size());
      index->expect_random_reads();
    }
  }
  shard.is_direct = setting_.cache == CachePolicy::direct;
  for (const InputFile& file : shard.reader.files()) {
    file.expect_random_reads();
    shard.is_direct = shard.is_direct && file.go_direct();
  }
}

// A manifest that says it continues the one that was opened has the same shards, and more of them
// behind; its lines stand elsewhere. Nullopt for any other one.
std::optional<ManifestOutline> LoaderState::outline_appended_to(const InputFile& manifest) const {
  try {
    ManifestOutline outline = read_manifest_outline(manifest);
    const std::vector<ManifestRun>& runs = outline.manifest.runs;
    const std::vector<ShardLine>&opened = setting_.outline.shards, &now = outline.shards;
    const bool continues = std::any_of(runs.begin(), runs.end(), [&](const ManifestRun& run) {
      return run.after.hex() == setting_.self_hash;
    });
    const bool has_same_rows =
        now.size() >= opened.size() &&
        std::equal(opened.begin(), opened.end(), now.begin(),
                   [](const ShardLine& a, const ShardLine& b) { return a.samples == b.samples; });
    if (continues && has_same_rows) return outline;
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
  }
  return std::nullopt;
}

void LoaderState::refuse_changes() {
  const bool is_dataset = setting_.file.empty();
  const std::string& opened = is_dataset ? setting_.paths.manifest : setting_.file;
  const std::optional<FileStamp> now = stamp_of(opened);
  {
    const std::lock_guard lock(stamp_mutex_);
    if (!now || *now == stamp_) return;
  }
  if (*now == FileStamp{}) {
    // What is open of a file that was unlinked stays as it is: the next file of its name shows.
    if (!is_dataset) return;
    throw Error(Code::mismatch, "not found: the dataset was removed, or is being replaced")
        .at(public_manifest(opened))
        .hint("open it again once it is complete");
  }
  if (std::optional<Error> change = change_of(opened)) throw *change;
  const std::lock_guard lock(stamp_mutex_);
  stamp_ = *now;
}

// Of the manifest, the file of another tool, or the list of such files: one that was touched, or
// copied over itself, is still the one that was opened. Which files a list names was settled then,
// and each of them is compared with what it was when its shard is opened.
std::optional<Error> LoaderState::change_of(const std::string& opened) {
  if (setting_.file.empty()) {
    const InputFile manifest = open_manifest(setting_);
    if (self_hash_of(manifest) == setting_.self_hash || outline_appended_to(manifest))
      return std::nullopt;
    return replaced_dataset(opened);
  }
  if (!setting_.file_states.empty()) {
    const std::optional<std::vector<SetMember>> listed = files_of_set(opened);
    const bool is_same = listed && std::ranges::equal(*listed, setting_.held_shards,
                                                      [](const auto& now, const auto& shard) {
                                                        return printable(now.name) == shard.name;
                                                      });
    return is_same ? std::nullopt : std::optional(replaced_dataset(opened));
  }
  const auto change = change_since_index(InputFile(opened), setting_.outline.manifest, facts_of(0));
  return change ? std::optional(changed_since_opened(opened, *change)) : std::nullopt;
}

void LoaderState::track_descriptors(const OpenShard& shard, bool are_open) {
  if (shard.reader.index_file() != nullptr) track_descriptor(*shard.reader.index_file(), are_open);
  for (const InputFile& file : shard.reader.files()) track_descriptor(file, are_open);
}

void LoaderState::track_descriptor(const InputFile& file, bool is_open) {
  const int wanted = is_open ? -1 : file.descriptor();
  struct stat status {};
  if (is_open && ::fstat(file.descriptor(), &status) != 0) return;
  // Nothing reads by the position: it is a mark, which forks share and no other open has.
  if (is_open && ::lseek(file.descriptor(), process_, SEEK_SET) != process_) return;
  for (TrackedDescriptor& tracked : tracked_) {
    if (tracked.descriptor != wanted) continue;
    if (is_open) {
      tracked.device = status.st_dev;
      tracked.inode = status.st_ino;
    }
    tracked.descriptor = is_open ? file.descriptor() : -1;
    return;
  }
}

LoaderState::ReadLease LoaderState::take_context() {
  std::unique_ptr<ReadContext> context;
  {
    std::unique_lock lock(mutex_);
    context_is_free_.wait(lock, [this] { return contexts_in_use_ < kMostContexts; });
    if (!contexts_.empty()) {
      context = std::move(contexts_.back());
      contexts_.pop_back();
    }
    ++contexts_in_use_;
  }
  try {
    if (context == nullptr)
      context =
          std::make_unique<ReadContext>(ReadContext{BatchReader({.depth = kReadsInFlight}), {}});
  } catch (...) {
    put_back(nullptr);
    throw;
  }
  return {context.release(), PutBack{this}};
}

void LoaderState::put_back(ReadContext* given_back) {
  std::unique_ptr<ReadContext> context(given_back);
  // After an error its reads may still be in flight.
  if (std::uncaught_exceptions() > 0) context.reset();
  const std::lock_guard lock(mutex_);
  if (context != nullptr && contexts_.size() < kMostContexts)
    contexts_.push_back(std::move(context));
  context.reset();
  --contexts_in_use_;
  context_is_free_.notify_one();
}

}  // namespace shale
