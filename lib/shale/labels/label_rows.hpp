#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/left_out.hpp"
#include "shale/data/schema.hpp"
#include "shale/labels/label_kinds.hpp"
#include "shale/manifest/json_lines.hpp"

namespace shale {

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
  /// Instead of a file: where the class is in the name of each file (LabelPattern).
  std::string pattern = {};

  [[nodiscard]] bool is_given() const { return !path.empty() || !pattern.empty(); }

  /// The labels become fields, not the class of a sample.
  [[nodiscard]] bool has_fields() const {
    return !separator.empty() || !group_column.empty() ||
           label_column.find_first_of(",=") != std::string::npos;
  }
  /// Without its folders: what is written about it is the same wherever it lies.
  [[nodiscard]] std::string name() const { return path.substr(path.rfind('/') + 1); }
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
  annotations,   ///< what tools of annotation write (annotations/annotation_rows)
};

/// What is known of a labels file when it has been read.
struct LabelsRead {
  LabelForm form = LabelForm::table;
  /// Its columns that are neither key nor label, if they have names; none where the file's
  /// `label_column` is given.
  LeftOutList left_out = {};
  /// Of annotations: the names of the numbers in the field kCategories, and what to tell.
  std::vector<std::string> classes = {};
  bool sorts_classes = false;  ///< labels are those of the sorted names
  bool is_complete = false;    ///< a file without row has nothing
  std::vector<std::string> notes = {};
};

struct LabelRow {
  std::uint64_t number = 0;  ///< of the row or the line, from 1
  std::string_view key;      ///< of ground truth: empty
  std::string_view label;    ///< without blanks around it
  /// It is the first row of a table whose columns nobody named.
  bool may_be_header = false;
  /// Where the labels become fields: by column. Empty cells of CSV are null, numbers are numbers.
  std::span<const JsonMember> cells = {};
  /// What the first of these become, where that is known beforehand.
  std::span<const Field> types = {};
};

/// True for labels that become fields, by what is asked for or by the content of the file.
[[nodiscard]] bool become_fields(const LabelFile& file);

/// For what is sorted on disk. Empty: the temporary folder.
struct LabelScratch {
  std::string folder = {};
  std::uint64_t memory_bytes = 4 << 20;
  std::function<void()> stop_if_asked = [] {};
};

/// Reads the rows of a labels file: CSV, TSV, two words per line, JSON lines, or a known form.
/// JSON lines are told by their suffix, or by how the file begins. Memory: one row; of annotations
/// the given budget. Errors:
/// Code::bad_content, with the row's number, for an invalid file, a column that is not there or
/// comes twice, a row without one of them, an empty key or label, a label that is neither a string
/// nor a number; Code::unsupported for what is not a regular file.
/// `with_cells`: rows have cells, and may lack a label.
[[nodiscard]] LabelsRead read_label_rows(const LabelFile& file,
                                         const std::function<void(const LabelRow&)>& use,
                                         bool with_cells = false, const LabelScratch& scratch = {});

/// The synsets of ILSVRC by their numbers, from 1: those of the file beside `ground_truth`, a
/// map_clsloc.txt ("n02119789 1 kit_fox") or the meta.mat of the devkit; `from` becomes its path.
/// Errors: Code::bad_content if there is none, or it is not such a list.
struct SynsetNumbers {
  std::string from;
  std::vector<std::string> names;  ///< that of number 1 first
};
[[nodiscard]] SynsetNumbers synsets_beside(const std::string& ground_truth);

}  // namespace shale
