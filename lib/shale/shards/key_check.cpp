#include "shale/shards/key_check.hpp"

#include <optional>
#include <set>

#include "shale/base/bytes.hpp"

// An entry is u64 hash (big-endian), then of a key 'k' and the key, of one that was written before
// 'w', u64 shard, u64 row (big-endian).

namespace shale {
namespace {

constexpr std::size_t kKeyHashBytes = sizeof(std::uint64_t);

std::string key_in(std::string_view entry, const KeyCheck::KeyOf& key_of) {
  const std::string_view rest = entry.substr(kKeyHashBytes + 1);
  if (entry[kKeyHashBytes] == 'k') return std::string(rest);
  return key_of(read_big_endian(rest.substr(0, 8)), read_big_endian(rest.substr(8)));
}

}  // namespace

Error key_is_not_unique(std::string_view key) {
  return Error(Code::schema, "the key is not unique: two samples have it")
      .for_sample(key)
      .hint("keys name samples; rename one of the two in the source");
}

KeyCheck::KeyCheck(const std::string& work_folder, std::uint64_t memory_bytes)
    : keys_(work_folder, memory_bytes) {}

void KeyCheck::add(std::uint64_t hash, std::string_view key) {
  entry_.clear();
  append_big_endian(entry_, hash);
  keys_.add(entry_.append(1, 'k').append(key));
}

void KeyCheck::add_written(std::uint64_t hash, std::uint64_t shard, std::uint64_t row) {
  entry_.clear();
  append_big_endian(entry_, hash);
  entry_ += 'w';
  append_big_endian(entry_, shard);
  append_big_endian(entry_, row);
  keys_.add(entry_);
}

void KeyCheck::finish(const KeyOf& key_of) {
  keys_.finish();
  std::string previous;
  std::set<std::string> equal;  // keys whose hash is that of `previous`, where there are several
  while (const std::optional<std::string_view> entry = keys_.next()) {
    if (entry->substr(0, kKeyHashBytes) == std::string_view(previous).substr(0, kKeyHashBytes)) {
      if (equal.empty()) equal.insert(key_in(previous, key_of));
      std::string key = key_in(*entry, key_of);
      if (!equal.insert(key).second) throw key_is_not_unique(key);
    } else {
      equal.clear();
    }
    previous = *entry;
  }
}

}  // namespace shale
