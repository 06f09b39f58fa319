#include "shale/labels/several_labels.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostNames = 4096;

}  // namespace

void SeveralLabels::note(std::string_view label) {
  for (std::size_t i = 0; i < kSeparators.size(); ++i) {
    Divided& one = divided_[i];
    if (one.names.size() == kMostNames) continue;
    if (label.find(kSeparators[i]) != std::string_view::npos) {
      ++one.cells;
      if (one.example.empty()) one.example = label;
    }
    for (std::size_t begin = 0; begin <= label.size();) {
      const std::size_t end = std::min(label.find(kSeparators[i], begin), label.size());
      ++one.names[std::string(trimmed(label.substr(begin, end - begin)))];
      ++one.pieces;
      begin = end + 1;
    }
  }
}

// Names that a character divides are few, and come again in other cells.
std::string SeveralLabels::note_for(const std::string& path) const {
  for (std::size_t i = 0; i < kSeparators.size(); ++i) {
    const Divided& one = divided_[i];
    const bool are_several = one.cells > 1 && one.names.size() < kMostNames &&
                             2 * one.names.size() <= one.pieces && !one.names.contains("");
    if (!are_several) continue;
    return fmt::format(
        "labels in {} look like several in a cell, '{}', and are one class each; --label-separator "
        "'{}' makes lists of classes of them",
        printable(path), printable(one.example), kSeparators[i]);
  }
  return {};
}

}  // namespace shale
