#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace shale {

/// Whether the labels of a file look like several in a cell: "cat|dog". Memory: 3 x 4,096 names.
class SeveralLabels {
 public:
  void note(std::string_view label);
  /// A sentence that names --label-separator; empty: they do not. `path`: of the file.
  [[nodiscard]] std::string note_for(const std::string& path) const;

 private:
  static constexpr std::string_view kSeparators = "|;,";
  struct Divided {
    std::uint64_t cells = 0, pieces = 0;  // with the separator; pieces of all cells
    std::string example;
    std::map<std::string, std::uint64_t, std::less<>> names;
  };
  std::array<Divided, kSeparators.size()> divided_;
};

}  // namespace shale
