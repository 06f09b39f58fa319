#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// Class names by label, and back.
class ClassTable {
 public:
  ClassTable() = default;
  /// The names in the order of their labels. Errors: Code::bad_content for a name that comes twice.
  explicit ClassTable(std::vector<std::string> names, std::string_view where);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::optional<std::int64_t> label_of(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::uint32_t> by_name_;  // labels, sorted by name
};

/// The table of a finished dataset, or of a text file with one class name per line (without the
/// blanks around it).
/// Errors: Code::not_found; Code::bad_content for a file without names or a dataset without
/// classes.
[[nodiscard]] ClassTable load_class_table(const std::string& path);

}  // namespace shale
