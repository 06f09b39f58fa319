#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/io/external_sorter.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {

/// Two numbers for each of many keys, on disk, to be looked up in any order: a look-up takes some
/// twenty short reads for a million keys. Keys are told apart by their xxh3-128: what is found is
/// of a key with the same hash. Memory: what it is given while it is filled, then one block. One
/// thread.
class HashedRows {
 public:
  HashedRows(const std::string& scratch_folder, std::uint64_t memory_bytes);

  void add(std::string_view key, std::uint64_t first, std::uint64_t second);
  /// No more add() after it. `stop_if_asked` is called again and again, and may throw. Errors:
  /// Code::io.
  void finish(const std::function<void()>& stop_if_asked);

  using Numbers = std::pair<std::uint64_t, std::uint64_t>;
  /// Of each entry with that key, in ascending order. Errors: Code::io.
  [[nodiscard]] std::vector<Numbers> find(std::string_view key);

 private:
  std::optional<ExternalSorter> sorter_;
  ScratchFile file_;
  std::uint64_t count_ = 0;
};

}  // namespace shale
