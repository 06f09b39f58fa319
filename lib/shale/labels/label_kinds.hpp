#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shale {

/// An integer of 64 bits and nothing else; nullopt: it is a name, or an odd number.
[[nodiscard]] std::optional<std::int64_t> parse_integer_label(std::string_view text);
/// Neither an integer nor an odd number, such as 2.0.
[[nodiscard]] bool is_name_label(std::string_view text);
/// A real number as CSV has it, also with a comma for the point: "2.5" of "2,5"; nullopt: it is
/// none, or one that no double holds.
[[nodiscard]] std::optional<std::string> real_number_in(std::string_view text);

/// What the labels of a file are: integers if all of them are, and class names if none looks like
/// a number.
class LabelKinds {
 public:
  /// The label of a row, or a line, counted from 1.
  void note(std::uint64_t row, std::string_view label);
  [[nodiscard]] bool are_numbers() const { return odd_number_.row == 0 && name_.row == 0; }
  /// Numbers alone, of which some are real.
  [[nodiscard]] bool are_reals() const { return real_.row > 0 && name_.row == 0 && !has_long_; }
  /// Errors: Code::bad_content for numbers beside names, and for numbers that are not integers:
  /// taken as names, they would sort bytewise, 10 before 2. `path` has the rows, `row` is their
  /// word; `hint`: instead of the usual one.
  void refuse_mixed(const std::string& path, std::string_view row, std::string hint = {}) const;
  /// Of numbers alone. Errors: Code::bad_content where two of them, such as 1 and 01, would become
  /// one label: of the first 16,384 numbers, more are not compared.
  void refuse_two_forms(const std::string& path, std::string_view row) const;
  [[nodiscard]] bool have_zeros_in_front() const { return padded_.row > 0; }
  /// Of numbers alone, some of which have zeros in front: what becomes of them; else empty.
  [[nodiscard]] std::string note_on_zeros(const std::string& path) const;

 private:
  // The first label of each kind: when they do not go together, these are named.
  struct First {
    std::uint64_t row = 0;  // from 1; 0: there is none
    std::string text;
  };
  First integer_, odd_number_, name_;
  First real_;                  // the first number that is not written as an integer
  bool has_long_ = false;       // integers of more than 64 bits
  First padded_;                // the first number with a zero in front
  First one_form_, two_forms_;  // of one number
  std::map<std::int64_t, First> forms_;
};

}  // namespace shale
