#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/left_out.hpp"
#include "shale/manifest/json_lines.hpp"

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

/// A labels file, and where in it keys and labels stand: the names of columns, or of members of
/// JSON objects, or the numbers of columns, from 1. Empty names: as the file itself tells.
struct LabelFile {
  std::string path;
  /// Of several, "a,b": each becomes a field. "label=a,b": one tensor.
  std::string label_column = {};
  std::string key_column = {};
  std::string separator = {};     ///< a cell holds labels that this divides
  std::string strip_prefix = {};  ///< what keys begin with that the paths of files do not
  std::string group_column = {};  ///< a column that becomes a field beside the label

  /// The labels become fields, not the class of a sample.
  [[nodiscard]] bool has_fields() const {
    return !separator.empty() || !group_column.empty() ||
           label_column.find_first_of(",=") != std::string::npos;
  }
  /// Those that `label_column` names.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// They become the elements of one tensor.
  [[nodiscard]] bool has_vector() const { return label_column.starts_with("label="); }
  friend bool operator==(const LabelFile&, const LabelFile&) = default;
};

/// What a labels file is, by its content.
enum class LabelForm {
  table,         ///< rows of a key and a label
  kaggle,        ///< LOC_val_solution.csv: ImageId,PredictionString; the label is the first word
  ground_truth,  ///< ILSVRC's ground truth: a number in each line, for the files in sorted order
  tiny,          ///< tiny-ImageNet's val_annotations.txt: file, class, box
};

/// What is known of a labels file when it has been read.
struct LabelsRead {
  LabelForm form = LabelForm::table;
  /// Its columns that are neither key nor label, if they have names; none where the file's
  /// `label_column` is given.
  LeftOutList left_out = {};
};

struct LabelRow {
  std::uint64_t number = 0;  ///< of the row or the line, from 1
  std::string_view key;      ///< of ground truth: empty
  std::string_view label;    ///< without blanks around it
  /// It is the first row of a table whose columns nobody named.
  bool may_be_header = false;
  /// Where the labels become fields: by column. Empty cells of CSV are null, numbers are numbers.
  std::span<const JsonMember> cells = {};
};

/// Reads the rows of a labels file: CSV, TSV, two words per line, JSON lines, or a known form.
/// JSON lines are told by their suffix, or by how the file begins. Memory: one row. Errors:
/// Code::bad_content, with the row's number, for an invalid file, a column that is not there or
/// comes twice, a row without one of them, an empty key or label, a label that is neither a string
/// nor a number; Code::unsupported for what is not a regular file.
/// `with_cells`: rows have cells, and may lack a label.
[[nodiscard]] LabelsRead read_label_rows(const LabelFile& file,
                                         const std::function<void(const LabelRow&)>& use,
                                         bool with_cells = false);

/// The synsets of ILSVRC by their numbers, from 1: those of the file beside `ground_truth`, a
/// map_clsloc.txt ("n02119789 1 kit_fox") or the meta.mat of the devkit; `from` becomes its path.
/// Errors: Code::bad_content if there is none, or it is not such a list.
struct SynsetNumbers {
  std::string from;
  std::vector<std::string> names;  ///< that of number 1 first
};
[[nodiscard]] SynsetNumbers synsets_beside(const std::string& ground_truth);

}  // namespace shale
