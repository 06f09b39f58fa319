#include "shale/shards/common_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "shale/io/sorted_table.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/key_check.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kKeySortBytes = 8 << 20, kKeysBetweenStops = 4096;
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

// The hash of a key, and where it is.
struct KeyPlace {
  std::uint64_t hash = 0, side = 0, shard = 0, row = 0;
  static auto columns(auto& key) { return std::tie(key.hash, key.side, key.shard, key.row); }
};

class KeySearch {
 public:
  KeySearch(const Manifest& manifest, std::vector<ShardsIn> sides,
            const std::string& scratch_folder, const Events& events)
      : manifest_(manifest),
        sides_(std::move(sides)),
        events_(events),
        keys_(scratch_folder, kKeySortBytes) {}

  template <class Use>
  void for_each_key(std::uint64_t side, bool is_proved, const Use& use) const {
    std::uint64_t number = 0;
    sides_[side].for_each([&](const ManifestShard& entry) {
      const ShardReader shard(sides_[side].paths, manifest_, entry);
      if (is_proved) shard.prove_index([this](auto) { events_.stop_if_asked(); });
      IndexReader index = shard.open_index();
      for (std::uint64_t row = 0; row < index.rows(); ++row) {
        if (row % kKeysBetweenStops == 0) events_.stop_if_asked();
        use(KeyPlace{index.row(row).key_hash, side, number, row});
      }
      ++number;
    });
  }

  void add(const KeyPlace& key) { keys_.add(key); }
  [[nodiscard]] std::uint64_t count() const { return keys_.count(); }

  // Equal hashes are equal keys, but for one in 2^64.
  [[nodiscard]] std::optional<std::string> find() {
    keys_.finish();
    std::optional<KeyPlace> first = keys_.next();
    std::vector<std::string> same;  // keys with the hash of the first
    while (const std::optional<KeyPlace> next = keys_.next()) {
      if (next->hash != first->hash) {
        first = next;
        same.clear();
        continue;
      }
      events_.stop_if_asked();
      if (same.empty()) same.push_back(key_at(*first));
      std::string key = key_at(*next);
      if (std::ranges::find(same, key) != same.end()) return key;
      same.push_back(std::move(key));
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string key_at(const KeyPlace& at) const {
    std::string key;
    std::uint64_t number = 0;
    sides_[at.side].for_each([&](const ManifestShard& entry) {
      if (number++ != at.shard) return;
      const ShardReader shard(sides_[at.side].paths, manifest_, entry);
      const FieldPlace place = shard.open_index().row(at.row).key;
      const InputFile& file = shard.file_of_key();
      key.resize(std::min(place.length, file.size()));
      file.read_exact(place.offset, std::as_writable_bytes(std::span(key)));
      prove_value(as_bytes(key), place, file);
    });
    return key;
  }

  const Manifest& manifest_;
  const std::vector<ShardsIn> sides_;
  const Events& events_;
  SortedTable<KeyPlace> keys_;
};

}  // namespace

std::optional<std::string> key_in_common(const Manifest& manifest,
                                         const std::vector<ShardsIn>& sides,
                                         const std::string& scratch_folder, const Events& events) {
  KeySearch search(manifest, sides, scratch_folder, events);
  for (std::uint64_t side = 0; side < sides.size(); ++side)
    search.for_each_key(side, true, [&](const KeyPlace& key) { search.add(key); });
  return search.find();
}

std::optional<std::string> key_in_common(const Manifest& manifest, const ShardsIn& standing,
                                         const ShardsIn& added, const std::string& scratch_folder,
                                         const Events& events) {
  if (!manifest.layout.has_keys || !manifest.schema.has_keys) return std::nullopt;
  constexpr std::uint64_t kStanding = 0, kAdded = 1;
  KeySearch search(manifest, {standing, added}, scratch_folder, events);
  HashFilter filter;
  search.for_each_key(kAdded, false, [&](const KeyPlace& key) { filter.add(key.hash); });
  search.for_each_key(kStanding, true, [&](const KeyPlace& key) {
    if (filter.may_hold(key.hash)) search.add(key);
  });
  if (search.count() == 0) return std::nullopt;
  search.for_each_key(kAdded, false, [&](const KeyPlace& key) { search.add(key); });
  return search.find();
}

void refuse_keys_of_before(const Manifest& manifest, const WorkFolder& work, std::uint64_t before,
                           const Events& events) {
  const auto some = [&](bool are_before) -> ForEachShard {
    return [&work, before, are_before](const ShardVisitor& visit) {
      std::uint64_t number = 0;
      work.for_each_shard([&](const ManifestShard& shard) {
        if ((number++ < before) == are_before) visit(shard);
      });
    };
  };
  const DatasetPaths paths(work.path());
  if (const std::optional<std::string> key =
          key_in_common(manifest, {paths, some(true)}, {paths, some(false)}, work.path(), events))
    throw key_is_not_unique(*key);
}

}  // namespace shale
