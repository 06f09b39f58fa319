#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shale {

/// An integer of 64 bits and nothing else; nullopt: it is a name, or an odd number.
[[nodiscard]] std::optional<std::int64_t> parse_integer_label(std::string_view text);
/// Neither an integer nor an odd number, such as 2.0.
[[nodiscard]] bool is_name_label(std::string_view text);

/// What the labels of a file are: integers if all of them are, and class names if none looks like
/// a number.
class LabelKinds {
 public:
  /// The label of a row, or a line, counted from 1.
  void note(std::uint64_t row, std::string_view label);
  [[nodiscard]] bool are_numbers() const { return odd_number_.row == 0 && name_.row == 0; }
  /// Errors: Code::bad_content for numbers beside names, and for numbers that are not integers:
  /// taken as names, they would sort bytewise, 10 before 2. `path` has the rows, `row` is their
  /// word; `hint`: instead of the usual one.
  void refuse_mixed(const std::string& path, std::string_view row, std::string hint = {}) const;

 private:
  // The first label of each kind: when they do not go together, these are named.
  struct First {
    std::uint64_t row = 0;  // from 1; 0: there is none
    std::string text;
  };
  First integer_, odd_number_, name_;
};

}  // namespace shale
