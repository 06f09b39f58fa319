#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/io/external_sorter.hpp"

namespace shale {

/// Two samples have this key. Code::schema.
[[nodiscard]] Error key_is_not_unique(std::string_view key);

/// Finds two samples with the same key among those of a set: sorts the hashes of the keys, on disk
/// where they are many, and compares the keys themselves where hashes are equal.
class KeyCheck {
 public:
  /// `work_folder` is for what outgrows the memory.
  KeyCheck(const std::string& work_folder, std::uint64_t memory_bytes);

  void add(std::uint64_t hash, std::string_view key);
  /// A key that was written before, whose text is read only if it is needed.
  void add_written(std::uint64_t hash, std::uint64_t shard, std::uint64_t row);

  /// What reads the key of a row that was written before.
  using KeyOf = std::function<std::string(std::uint64_t shard, std::uint64_t row)>;
  /// Errors: Code::schema naming the key if two samples have the same; what `key_of` throws.
  void finish(const KeyOf& key_of);

 private:
  ExternalSorter keys_;
  std::string entry_;
};

}  // namespace shale
