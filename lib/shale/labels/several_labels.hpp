#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shale {

/// Whether the labels of a file look like several in a cell: "cat|dog". Memory: the first 16,384
/// labels that differ; others, and those of more than 1 KiB, are not looked at.
class SeveralLabels {
 public:
  /// False for a label that is known to have come before.
  bool note(std::string_view label);
  /// A sentence that names --label-separator; empty: they do not. `path`: of the file.
  [[nodiscard]] std::string note_for(const std::string& path) const;

 private:
  struct Cells {
    std::uint64_t count = 0, first = 0;  // the number of the label, as they come
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, Cells, Hash, std::equal_to<>> cells_;
};

}  // namespace shale
