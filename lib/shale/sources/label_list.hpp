#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/external_sorter.hpp"

namespace shale {

/// A labels file: rows of path,label (a first row "path,label" is a header). Blanks around a label
/// do not belong to it. Labels are integers if all of them are, and class names if none looks like
/// a number; numbers beside names are refused, unless the names are known (`has_class_table`): then
/// all are names. Read once, sorted on disk; memory: the given budget and the class names.
class LabelList {
 public:
  /// `stop_if_asked` is called for each row, and may throw.
  /// Errors: Code::bad_content, with the row, for an invalid CSV file, a row without exactly two
  /// fields, an empty path or label, labels of which only some are integers, a path that comes
  /// twice; Code::limit for more names than a manifest may hold that `all_memory_bytes` must do
  /// for.
  LabelList(const std::string& path, const std::string& scratch_folder, std::uint64_t memory_bytes,
            std::uint64_t all_memory_bytes, bool has_class_table,
            const std::function<void()>& stop_if_asked);

  [[nodiscard]] bool are_numbers() const { return are_numbers_; }
  /// Sorted bytewise; empty if the labels are numbers.
  [[nodiscard]] std::vector<std::string> class_names() const;

  struct Row {
    std::string place;  ///< folder, NUL, file name, NUL: sorts as the list of files does
    std::string text;   ///< the label, without blanks around it
    std::int64_t number = 0;
  };
  /// The rows in the order of their places, then nullopt.
  [[nodiscard]] std::optional<Row> next();
  /// The error for a row whose path is not that of an image below `root`.
  [[nodiscard]] Error unmatched(const Row& row, const std::string& root) const;

 private:
  // The first label of each kind: when they do not go together, these are named.
  struct FirstLabel {
    std::uint64_t row = 0;  // from 1; 0: there is none
    std::string text;
    void note(std::uint64_t of_row, std::string_view label) {
      if (row == 0) *this = {of_row, std::string(label)};
    }
  };
  void read_rows(const std::function<void()>& stop_if_asked);
  void refuse_mixed_labels() const;

  std::string path_;
  ExternalSorter rows_;
  std::set<std::string> names_;
  FirstLabel integer_, odd_number_, name_;
  bool are_numbers_ = true;
  std::string previous_;
};

}  // namespace shale
