#pragma once

#include <cstddef>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace shale {

/// The option that has the pattern, for those who compare a dataset with its input again.
/// What makes two conversions the same are the labels.
inline constexpr std::string_view kLabelFromOption = "label_from";

/// Where the class of a file is in its name: "{label}_{*}.jpg", or a regular expression with a
/// named group, "(?P<label>[a-z]+)\d+". {label} takes as much as it can, {*} anything, both within
/// one name. A pattern is that of the whole name, or, where it has a slash, of the whole path
/// relative to the folder; an expression (ECMAScript's) is looked for in the path.
class LabelPattern {
 public:
  /// Errors: Code::usage for a pattern without {label} or with two, and for what is not a regular
  /// expression.
  explicit LabelPattern(const std::string& text);
  /// Nullopt for a path that it does not fit, or where the label is empty.
  /// Errors: Code::usage for an expression that goes back and forth too often in this path.
  [[nodiscard]] std::optional<std::string> label_in(std::string_view path) const;

 private:
  std::string text_;
  std::regex expression_;
  bool is_of_path_ = false, is_searched_ = false;
  std::size_t group_ = 1;
};

}  // namespace shale
