#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/io/external_sorter.hpp"

namespace shale {

/// A sample on one side of a comparison, as an entry of a list that is sorted by keys.
struct ComparedEntry {
  std::string sort_key;  ///< with its end
  std::uint64_t first = 0, second = 0;
  std::string more;  ///< of a sample of the source: its further files

  [[nodiscard]] std::string key() const;
};

/// What is put into such a list; more may be appended.
[[nodiscard]] std::string entry_of(std::string_view key, std::uint64_t first, std::uint64_t second);
/// The next one of a sorted list.
[[nodiscard]] std::optional<ComparedEntry> next_entry(ExternalSorter& list);

}  // namespace shale
