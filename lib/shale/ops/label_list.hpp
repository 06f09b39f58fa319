#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/external_sorter.hpp"

namespace shale {

/// A labels file: rows of path,label (a first row "path,label" is a header). Labels are integers if
/// all of them are, else class names. Read once, sorted on disk; memory: the given budget and the
/// class names.
class LabelList {
 public:
  /// Errors: Code::bad_content for what is not CSV for a row without two fields or a path that
  /// comes twice.
  LabelList(const std::string& path, const std::string& scratch_folder, std::uint64_t memory_bytes);

  [[nodiscard]] bool are_numbers() const { return are_numbers_; }
  /// Sorted bytewise; empty if the labels are numbers.
  [[nodiscard]] std::vector<std::string> class_names() const;

  struct Row {
    std::string place;  ///< folder, NUL, file name, NUL: sorts as the list of files does
    std::string text;   ///< the label as it stands in the file
    std::int64_t number = 0;
  };
  /// The rows in the order of their places, then nullopt.
  [[nodiscard]] std::optional<Row> next();
  /// The error for a row that no image below `root` answers to.
  [[nodiscard]] Error unmatched(const Row& row, const std::string& root) const;

 private:
  std::string path_;
  ExternalSorter rows_;
  std::set<std::string> names_;
  bool are_numbers_ = true;
  std::string previous_;
};

}  // namespace shale
