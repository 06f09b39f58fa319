#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shale/labels/text_lines.hpp"

namespace shale {

/// How a list names samples.
enum class KeyForm {
  automatic,  ///< as the list itself tells
  escaped,    ///< by keys, as `shale ls` prints them
  raw,        ///< by keys, as their bytes are
  nul,        ///< the same, and each ends in NUL
  rows,       ///< by row numbers
};

/// "auto", "escaped" ...; nullopt for another word.
[[nodiscard]] std::optional<KeyForm> key_form_of(std::string_view word);

/// A list of samples: a key or a row number in each line, or one of the tables that shale writes:
/// rows of `shale ls --tsv`, and CSV whose first row has a column `key` (or else `row`), as
/// skipped.csv, images.csv and duplicates.csv have. The first line of a plain list may say what it
/// has, `key` or `row`; if it does not, lines are row numbers where all of them are plain numbers
/// (digits, without zeros in front), else keys. Memory: one line.
class ChoiceList {
 public:
  /// `has_keys`: false where samples have only numbers. Errors: same as TextLines and read_csv;
  /// Code::bad_content for a table of other columns than `form` needs.
  ChoiceList(const std::string& name, KeyForm form, bool has_keys, ListCopies& copies);

  [[nodiscard]] const std::string& name() const { return lines_.path(); }
  [[nodiscard]] bool are_rows() const { return are_rows_; }
  /// Rows, because all of them are numbers, and nothing else says so.
  [[nodiscard]] bool may_be_keys() const { return may_be_keys_; }
  /// Keys are as `ls` prints them, as their bytes are, or either.
  [[nodiscard]] bool may_be_escaped() const { return form_ != KeyForm::raw; }
  [[nodiscard]] bool may_be_raw() const { return form_ != KeyForm::escaped; }
  /// A table may have several rows of one sample.
  [[nodiscard]] bool is_table() const { return shape_ != Shape::lines; }

  /// use(place, text): the line, row or entry, from 1, and the key or the number in it.
  void for_each(const std::function<void(std::uint64_t place, std::string_view text)>& use) const;
  [[nodiscard]] std::string text_of(std::uint64_t place) const;
  /// "line", "row" or "entry".
  [[nodiscard]] std::string_view word() const {
    return shape_ == Shape::csv ? "row" : ending_ == '\0' ? "entry" : "line";
  }

 private:
  enum class Shape { lines, csv, listing };
  void look_at_lines(bool has_keys);
  bool take_header(std::string_view line);

  std::string path_;  // what this process opens it by
  KeyForm form_;
  char ending_;
  TextLines lines_;
  Shape shape_ = Shape::lines;
  bool are_rows_ = false, may_be_keys_ = false;
  std::uint64_t header_line_ = 0;  // of a plain list
  std::size_t column_ = 0;
};

/// Digits, without a sign or zeros in front.
[[nodiscard]] std::optional<std::uint64_t> plain_number(std::string_view text);

}  // namespace shale
