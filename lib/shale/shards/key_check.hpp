#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/io/external_sorter.hpp"

namespace shale {

/// Two samples have this key. Code::schema.
[[nodiscard]] Error key_is_not_unique(std::string_view key);

/// Finds two samples with the same key among those of a set: sorts the keys by their hashes, on
/// disk where they are many.
class KeyCheck {
 public:
  /// `work_folder` is for what outgrows the memory.
  KeyCheck(const std::string& work_folder, std::uint64_t memory_bytes);

  void add(std::uint64_t hash, std::string_view key);
  /// Errors: Code::schema naming the key if two samples have the same.
  void finish();

 private:
  ExternalSorter keys_;
  std::string entry_;
};

/// Finds two samples of a shard that other programs would know by one name (Format::sample_name).
class NameCheck {
 public:
  NameCheck(const std::string& work_folder, std::uint64_t memory_bytes);

  void add(std::string_view name, std::string_view key);
  /// Errors: Code::schema naming both keys if two samples have the same name.
  void finish(const Format& format);

 private:
  ExternalSorter names_;
  std::string entry_;
};

}  // namespace shale
