#include "shale/shards/key_check.hpp"

#include <optional>

#include "shale/base/bytes.hpp"

namespace shale {

Error key_is_not_unique(std::string_view key) {
  return Error(Code::schema, "the key is not unique: two samples have it")
      .for_sample(key)
      .hint("keys name samples; rename one of the two in the source");
}

KeyCheck::KeyCheck(const std::string& work_folder, std::uint64_t memory_bytes)
    : keys_(work_folder, memory_bytes) {}

// An entry is u64 hash (big-endian), then the key: equal keys come one after the other.
void KeyCheck::add(std::uint64_t hash, std::string_view key) {
  entry_.clear();
  append_big_endian(entry_, hash);
  keys_.add(entry_.append(key));
}

void KeyCheck::finish() {
  keys_.finish();
  std::string previous;
  while (const std::optional<std::string_view> entry = keys_.next()) {
    if (*entry == previous) throw key_is_not_unique(entry->substr(sizeof(std::uint64_t)));
    previous = *entry;
  }
}

}  // namespace shale
