#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/format/source.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/label_list.hpp"
#include "shale/labels/label_rows.hpp"
#include "shale/labels/metadata_file.hpp"
#include "shale/labels/metadata_values.hpp"
#include "shale/manifest/stored_listing.hpp"

namespace shale {

/// The option of manifests that says that rows of metadata.csv or metadata.jsonl became fields:
/// kMetadataFields, or kMetadataWithLabels if the labels come from there, too.
inline constexpr std::string_view kMetadataOption = "metadata", kMetadataFields = "fields",
                                  kMetadataWithLabels = "fields and labels";

/// A row of one of these files, what names its sample, a sample, and both where they meet.
struct CellsOfRow {
  std::uint32_t file = 0;
  std::uint64_t number = 0;  ///< from 1; 0: there is no row
  std::string_view cells = {};
  static auto columns(auto& row) { return std::tie(row.file, row.number, row.cells); }
};
struct StoredMetadata {
  std::string_view path;
  CellsOfRow row;
  static auto columns(auto& row) { return std::tie(row.path, row.row); }
};
struct MetadataSample {
  std::string_view path;
  std::uint64_t number = 0;
  static auto columns(auto& row) { return std::tie(row.path, row.number); }
};
struct MatchedMetadata {
  std::uint64_t number = 0;
  CellsOfRow row;
  static auto columns(auto& row) { return std::tie(row.number, row.row); }
};

/// The files metadata.csv and metadata.jsonl of a folder, whose rows are joined with the samples on
/// disk. Text of CSV stays text; of JSON strings are text, integers integer, numbers of which some
/// are not integers real, and anything else what NestedColumn says. A column that some row has no
/// value of is an optional field. Memory: the given budget, and the
/// class names. One thread.
class MetadataRows {
 public:
  struct Request {
    std::string root;
    std::string scratch_folder;
    std::uint64_t memory_bytes = 3 << 20;
    std::uint64_t all_memory_bytes = 256 << 20;  ///< the names of classes go by it
    bool has_class_table = false;                ///< numbers beside names are names
    bool extends_set = false;                    ///< as FolderRequest::extends_set
    std::string sample_field = "image";
    std::string separator = {};  ///< of the labels in a cell of `label`, which is then a list
    std::function<void()> stop_if_asked = [] {};
  };
  explicit MetadataRows(Request request);

  /// A file with such a name; twice is once. Errors: Code::limit for more than 4096.
  void add_file(std::string_view folder, std::string_view name);
  /// Reads the rows of all. `other` is told of a file without a column file_name. Errors: same as
  /// read_metadata_file; Code::bad_content for two files in one folder, and, with both rows, for
  /// values of one column that are of several kinds; for two columns that become one field;
  /// Code::limit for more than 256 columns, and a row that is too large.
  void read(const std::function<void(std::string_view folder, std::string_view name)>& other);
  /// Reads the rows of a file of labels instead: a column `label` of real numbers, of arrays, or of
  /// cells with a separator is a field of that name, those of labels that are numbers in some rows
  /// and strings in others are text. `is_sample`: whether a name is that of a sample. `is_windows`:
  /// as KeyShapes. Errors: same as read_label_rows; as of read.
  void read_labels(const LabelFile& file, const std::function<bool(std::string_view)>& is_sample,
                   bool is_windows);
  /// What the rows of that file have as keys.
  [[nodiscard]] KeyMatch match_of_labels(bool has_nested_files) const {
    return shapes_.match(has_nested_files);
  }
  /// Its columns that are neither keys nor labels.
  [[nodiscard]] const LeftOutList& left_out() const { return left_out_; }
  [[nodiscard]] bool has_files() const { return !files_.empty(); }
  /// Of the first file, in the order of their paths.
  [[nodiscard]] std::string first_path() const { return path_of(0); }
  [[nodiscard]] bool is_one_of_them(const std::string& path) const;

  /// The samples, in their order.
  void add_sample(std::string_view path);
  /// Joins both; `unused` is told of each row that is not of a sample, as "metadata.csv:17".
  /// Returns what the user should know of it, or nothing. Errors: Code::bad_content, naming both
  /// rows, for two of one file, and if no row is that of a sample.
  std::string match(const std::function<void(const std::string& entry)>& unused);

  /// What the columns become, but the label.
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  [[nodiscard]] bool has_labels() const { return label_.has_value(); }
  /// The names of classes are in the lists of a field `label`, or those of annotations.
  [[nodiscard]] bool has_lists_of_names() const {
    return (list_ && names_.row > 0) || !written_classes_.empty() ||
           (are_class_numbers_ && request_.has_class_table);
  }
  /// All labels are integers; else they are names.
  [[nodiscard]] bool has_numbers() const {
    const bool are_of_table = request_.has_class_table && kinds_.have_zeros_in_front();
    return label_ && names_.row == 0 && !are_of_table;
  }
  /// The names of the samples that have a row, sorted bytewise; of annotations all, as they have
  /// them.
  [[nodiscard]] const std::vector<std::string>& class_names() const { return class_names_; }
  /// What names are the labels of; of numbers which there may be.
  void use_table(std::optional<ClassTable> table);
  [[nodiscard]] std::uint64_t unused() const { return unused_; }
  /// Each file, relative to the root, and what tells that it is as it was.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> stamps() const;
  [[nodiscard]] std::int64_t modified_ns() const;
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// Gives the next sample its row, and its label; without row it has none, and with one that lacks
  /// the label its row is the sentence that says so. Errors: Code::bad_content for a label that
  /// the table has not.
  void next(ListedFile& sample);
  void rewind() { matched_.rewind(); }

 private:
  struct File {
    std::string folder, name, stamp;
    std::int64_t modified_ns = 0;
  };
  // Where something was seen first.
  struct Seen {
    std::uint64_t file = 0, row = 0;  // no row: nowhere
    std::string text;
  };
  enum Class : std::size_t { kText, kInteger, kReal, kJson, kLongInteger, kInexact, kClasses };
  struct Column {
    std::string name;
    std::array<Seen, kClasses> seen;
    NestedColumn nested = {};
    std::optional<Field> type = {};  // if it is known beforehand
    std::uint64_t values = 0;
    std::optional<std::size_t> field;
  };
  [[nodiscard]] std::string path_of(std::uint64_t file) const;
  [[nodiscard]] std::string place_of(std::uint64_t file, std::uint64_t row) const;
  [[nodiscard]] Error at_row(std::uint64_t file, std::uint64_t row, const std::string& fact) const;
  void add_row(std::uint64_t file, const MetadataRow& row);
  std::size_t column_of(const std::string& name, std::uint64_t file, std::uint64_t row);
  void add_cells(std::uint64_t file, std::uint64_t row, const std::string& path,
                 std::span<const JsonMember> cells, std::span<const Field> types = {});
  void use_labels_as_field();
  void note_list(std::uint64_t file, std::uint64_t row, const JsonMember& cell);
  [[nodiscard]] std::vector<std::string_view> labels_in(std::string_view cell) const;
  [[nodiscard]] std::string renumbered(std::string_view numbers, std::uint64_t file,
                                       std::uint64_t row) const;
  [[nodiscard]] std::string numbers_of(std::string_view cell, std::uint64_t file,
                                       std::uint64_t row) const;
  void note_label(std::uint64_t file, std::uint64_t row, const JsonMember& cell);
  void choose_fields();
  // Without its name.
  [[nodiscard]] Field field_of(const Column& column) const;
  void take_label(const std::string& text, std::uint64_t file, std::uint64_t row,
                  ListedFile& sample) const;

  Request request_;
  SortedTable<StoredMetadata> rows_;
  SortedTable<MetadataSample> samples_;
  SortedTable<MatchedMetadata> matched_;
  std::uint64_t sample_count_ = 0, unused_ = 0;
  bool samples_have_marks_ = false, rows_have_marks_ = false;
  std::vector<File> files_;
  std::vector<Column> columns_;
  std::map<std::string, std::size_t, std::less<>> column_by_name_;
  std::optional<std::size_t> label_;
  std::optional<std::size_t> list_;  // the column `label` that is a field
  bool are_of_labels_ = false;       // read_labels
  KeyShapes shapes_;
  LeftOutList left_out_;
  Seen numbers_, names_;
  LabelKinds kinds_;
  std::vector<Field> fields_;
  std::vector<std::string> class_names_, notes_;
  std::optional<ClassTable> table_;
  std::vector<std::string> written_classes_;  // by the numbers in the column kCategories
  std::vector<std::optional<std::int64_t>> label_of_written_;
  bool are_class_numbers_ = false;  // that column has numbers without names
  bool renumbers_ = false;          // its numbers are not the labels, or may be none
  bool fills_ = false;              // a sample without row has empty lists
  std::string cells_;
};

/// The name of the field that a column becomes: dots and slashes become underscores, and a name
/// that is taken (`key`, `index`, that of the samples' own field) gets "_column" behind it.
[[nodiscard]] std::string metadata_field_name(std::string_view column,
                                              std::string_view sample_field);

/// What tells one state of a file from another: its size and when it was modified.
[[nodiscard]] std::string metadata_stamp(const std::string& path);

}  // namespace shale
