#include "shale/targets/appended_keys.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/shard_set_writer.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kAppendedSortBytes = 4 << 20, kKeysBetweenStops = 4096;
constexpr unsigned kFilterBits = 26;  // 8 MiB

// Remembers hashes, and others with them: one in a hundred where there are 600,000.
class HashFilter {
 public:
  void add(std::uint64_t hash) { words_[word(hash)] |= bit(hash); }
  [[nodiscard]] bool may_hold(std::uint64_t hash) const {
    return (words_[word(hash)] & bit(hash)) != 0;
  }

 private:
  static std::size_t word(std::uint64_t hash) { return hash >> (64 - kFilterBits + 6); }
  static std::uint64_t bit(std::uint64_t hash) {
    return std::uint64_t{1} << (hash >> (64 - kFilterBits) & 63);
  }
  std::vector<std::uint64_t> words_ =
      std::vector<std::uint64_t>(std::size_t{1} << (kFilterBits - 6));
};

struct KeyRow {
  std::uint64_t hash = 0, shard = 0, row = 0;
};

std::string entry_of_key(const KeyRow& key) {
  std::string entry;
  append_big_endian(entry, key.hash);
  append_big_endian(entry, key.shard);
  append_big_endian(entry, key.row);
  return entry;
}

std::optional<KeyRow> next_key(ExternalSorter& keys) {
  const std::optional<std::string_view> entry = keys.next();
  if (!entry) return std::nullopt;
  return KeyRow{read_big_endian(entry->substr(0, 8)), read_big_endian(entry->substr(8, 8)),
                read_big_endian(entry->substr(16, 8))};
}

// The shards of one side.
class KeySide {
 public:
  KeySide(DatasetPaths paths, const Manifest& manifest, ForEachShard shards, const Events& events)
      : paths_(std::move(paths)),
        manifest_(manifest),
        shards_(std::move(shards)),
        events_(events) {}

  template <class Use>
  void for_each_hash(bool is_proved, const Use& use) const {
    std::uint64_t number = 0;
    shards_([&](const ManifestShard& entry) {
      const ShardReader shard(paths_, manifest_, entry);
      if (is_proved) shard.prove_index([this](auto) { events_.stop_if_asked(); });
      IndexReader index = shard.open_index();
      for (std::uint64_t row = 0; row < index.rows(); ++row) {
        if (row % kKeysBetweenStops == 0) events_.stop_if_asked();
        use(KeyRow{index.row(row).key_hash, number, row});
      }
      ++number;
    });
  }

  [[nodiscard]] std::string key_at(const KeyRow& at) const {
    std::string key;
    std::uint64_t number = 0;
    shards_([&](const ManifestShard& entry) {
      if (number++ != at.shard) return;
      const ShardReader shard(paths_, manifest_, entry);
      const FieldPlace place = shard.open_index().row(at.row).key;
      const InputFile& file = shard.file_of_key();
      key.resize(std::min(place.length, file.size()));
      file.read_exact(place.offset, std::as_writable_bytes(std::span(key)));
      prove_value(as_bytes(key), place, file);
    });
    return key;
  }

 private:
  DatasetPaths paths_;
  const Manifest& manifest_;
  ForEachShard shards_;
  const Events& events_;
};

// Equal hashes are equal keys, but for one in 2^64.
void refuse_common(ExternalSorter& these, const KeySide& side, ExternalSorter& those,
                   const KeySide& other, const Events& events) {
  std::optional<KeyRow> a = next_key(these), b = next_key(those);
  while (a && b) {
    events.stop_if_asked();
    if (a->hash < b->hash) {
      a = next_key(these);
      continue;
    }
    if (b->hash < a->hash) {
      b = next_key(those);
      continue;
    }
    const std::uint64_t hash = a->hash;
    std::vector<std::string> keys;
    for (; a && a->hash == hash; a = next_key(these)) keys.push_back(side.key_at(*a));
    for (; b && b->hash == hash; b = next_key(those)) {
      const std::string key = other.key_at(*b);
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
      throw Error(Code::schema, "the key is not unique: the dataset already has it")
          .for_sample(key)
          .hint("leave it out with --exclude, or rename it in the input");
    }
  }
}

}  // namespace

void refuse_standing_keys(const DatasetPaths& standing, const ShardList& shards,
                          const DatasetPaths& added, const ForEachShard& added_shards,
                          const Events& events) {
  const Manifest& manifest = shards.manifest();
  if (!manifest.layout.has_keys || !manifest.schema.has_keys) return;
  const KeySide ours(
      standing, manifest,
      [&](const auto& visit) {
        for (const ManifestShard& shard : shards) visit(shard);
      },
      events);
  const KeySide theirs(added, manifest, added_shards, events);
  HashFilter filter;
  theirs.for_each_hash(false, [&](const KeyRow& key) { filter.add(key.hash); });
  ExternalSorter candidates(added.shards, kAppendedSortBytes),
      keys(added.shards, kAppendedSortBytes);
  ours.for_each_hash(true, [&](const KeyRow& key) {
    if (filter.may_hold(key.hash)) candidates.add(entry_of_key(key));
  });
  candidates.finish();
  if (candidates.count() == 0) return;
  theirs.for_each_hash(false, [&](const KeyRow& key) { keys.add(entry_of_key(key)); });
  keys.finish();
  refuse_common(candidates, ours, keys, theirs, events);
}

}  // namespace shale
