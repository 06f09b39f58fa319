#include "shale/labels/several_labels.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostLabels = 16'384, kLongestLabel = 1024, kMostNames = 4096;
constexpr std::string_view kSeparators = "|;,";

}  // namespace

bool SeveralLabels::note(std::string_view label) {
  if (const auto found = cells_.find(label); found != cells_.end()) {
    ++found->second.count;
    return false;
  }
  if (cells_.size() < kMostLabels && label.size() <= kLongestLabel)
    cells_.emplace(label, Cells{1, cells_.size()});
  return true;
}

// Names that a character divides are few, and come again in other cells.
std::string SeveralLabels::note_for(const std::string& path) const {
  for (const char separator : kSeparators) {
    std::uint64_t divided = 0, pieces = 0, first = cells_.size();
    std::string_view example;
    std::set<std::string_view> names;
    for (const auto& [label, cells] : cells_) {
      const std::string_view text = label;
      if (text.find(separator) != std::string_view::npos) {
        divided += cells.count;
        if (cells.first < first) example = text;
        first = std::min(first, cells.first);
      }
      for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        names.insert(trimmed(text.substr(begin, end - begin)));
        pieces += cells.count;
        begin = end + 1;
      }
    }
    const bool are_several = divided > 1 && names.size() < kMostNames &&
                             2 * names.size() <= pieces && !names.contains("");
    if (!are_several) continue;
    return fmt::format(
        "labels in {} look like several in a cell, '{}', and are one class each; --label-separator "
        "'{}' makes lists of classes of them",
        printable(path), printable(example), separator);
  }
  return {};
}

}  // namespace shale
