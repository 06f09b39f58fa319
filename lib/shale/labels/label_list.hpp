#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/labels/label_rows.hpp"

namespace shale {

/// How the keys of a labels file name files.
enum class KeyMatch {
  path,      ///< relative to the folder
  name,      ///< the file's name alone: no key has a folder, but files are in folders
  stem,      ///< the file's name without its suffix: no key has the suffix of a sample
  path_stem, /**< the path without its suffix */
  position,  ///< no keys: the rows are those of the files in sorted order
};

/// What the keys of a file have, which says how they name files.
class KeyShapes {
 public:
  /// The key as a path with slashes, without "./" in front; valid as long as the key, and until the
  /// next call. `is_windows`: back-slashes are slashes.
  [[nodiscard]] std::string_view note(std::string_view key, bool is_windows,
                                      const std::function<bool(std::string_view)>& is_sample);
  [[nodiscard]] KeyMatch match(bool has_nested_files) const;
  [[nodiscard]] bool have_suffixes() const { return have_suffixes_; }
  /// What the user should know of the keys in `path`.
  [[nodiscard]] std::vector<std::string> notes(const std::string& path, KeyMatch match) const;

 private:
  bool have_folders_ = false, have_suffixes_ = false, have_back_slashes_ = false;
  std::string with_slashes_;
};

/// What the key of a file is, as `match` has it; of position none.
[[nodiscard]] std::string key_of_file(KeyMatch match, std::string_view folder,
                                      std::string_view name);

/// What a row is found by: a folder and a name, or what of both its key has. Where there are no
/// keys, the name is the number of the row, 20 digits. Views of what others own.
struct LabelPlace {
  std::string_view folder = {}, name = {};
  [[nodiscard]] std::string path() const { return join_path(folder, name); }
  static auto columns(auto& row) { return std::tie(row.folder, row.name); }
  friend bool operator==(const LabelPlace&, const LabelPlace&) = default;
  friend bool operator<(const LabelPlace& a, const LabelPlace& b) {
    return columns(a) < columns(b);
  }
};

/// The folder of a path is what is before its last slash.
[[nodiscard]] LabelPlace place_in(std::string_view path);

/// A row as it is kept.
struct PlacedLabel {
  LabelPlace place;
  std::string_view label;
  static auto columns(auto& row) { return std::tie(row.place, row.label); }
};

/// What a list of labels is made for.
struct LabelListRequest {
  LabelFile file;
  std::string scratch_folder;
  std::uint64_t memory_bytes = 1 << 20;
  std::uint64_t all_memory_bytes = 256 << 20;
  bool has_class_table = false;   ///< numbers beside names are names
  bool has_nested_files = false;  ///< some of the files are in folders below the root
  bool needs_names = true;        ///< class_names() will be asked for
  bool may_be_windows = false;  ///< no file has a back-slash in its path: those of keys are slashes
  bool may_be_reals = false;    ///< labels may be real numbers (are_reals)
  std::function<bool(std::string_view)> is_sample =
      {};                                       ///< whether a name is that of a sample; may be null
  std::function<void()> stop_if_asked = [] {};  ///< called for each row: may throw
};

/// A labels file (labels/label_rows). Blanks around a label do not belong to it. Labels are
/// integers if all of them are, and class names if none looks like a number; numbers beside names
/// are refused, unless the names are known (`has_class_table`): then all are names. Those of
/// ILSVRC's ground truth are the names of its synsets. Read once, sorted on disk; memory: the given
/// budget and the class names.
class LabelList {
 public:
  /// Errors: same as read_label_rows; Code::bad_content, with the row, for labels of which only
  /// some are integers, a key that comes twice, a number of no synset, a first row that can only be
  /// a header with unknown names; Code::limit for more names
  /// than a manifest may hold that `all_memory_bytes` must do for.
  explicit LabelList(const LabelListRequest& request);

  [[nodiscard]] bool are_numbers() const { return are_numbers_; }
  /// They are real numbers, and the list is of no use: they are to be read as cells.
  [[nodiscard]] bool are_reals() const { return are_reals_; }
  [[nodiscard]] KeyMatch match() const { return match_; }
  /// Of all rows, whether they have a file or not; sorted bytewise; empty if the labels are
  /// numbers. Of ground truth those of all synsets, whatever `needs_names` says.
  [[nodiscard]] std::vector<std::string> class_names() const;
  [[nodiscard]] std::uint64_t rows() const { return rows_.count(); }
  /// Whether keys have letters with their marks as characters of their own (composed_text). Places
  /// are composed.
  [[nodiscard]] bool has_marks() const { return has_marks_; }
  /// Its columns that are neither keys nor labels.
  [[nodiscard]] const LeftOutList& left_out() const { return left_out_; }
  /// What the user should know of how it was read.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// The same where it turned out whether files are in folders, after a request that said so.
  [[nodiscard]] std::vector<std::string> notes(bool has_nested_files) const;
  /// The path whose place is that of the row of a file: `number` is that of the file in sorted
  /// order, from 0.
  [[nodiscard]] std::string path_for(std::string_view folder, std::string_view name,
                                     std::uint64_t number) const;

  struct Row {
    LabelPlace place;       ///< as path_for says; sorted, the list of files is too
    std::string_view text;  ///< the label, without blanks around it
    std::int64_t number = 0;
  };
  /// The rows in the order of their places, then nullopt. Views are valid until the next call.
  [[nodiscard]] std::optional<Row> next();
  /// Starts again at the first row.
  void rewind();
  /// The key of a row, as the file has it, but for "./" in front.
  [[nodiscard]] std::string key_of(const Row& row) const;
  std::string& append_key(std::string& into, const Row& row) const;
  /// True for the first row of a table without a known header, if it looks like one: its key has no
  /// dot, its label is not a number, and no other row has this label.
  [[nodiscard]] bool may_be_header(const Row& row) const {
    return has_likely_header_ && row.place.path() == first_.path;
  }
  [[nodiscard]] bool has_likely_header() const { return has_likely_header_; }
  /// The error for that row where it is not the row of an image.
  [[nodiscard]] Error likely_header() const;
  /// Errors: Code::bad_content if it has no rows.
  void refuse_none() const;
  /// The error for a row whose path is not that of an image below `root`. `like`: the path of one
  /// that the key ends with, or that differs in case only; empty: there is none.
  [[nodiscard]] Error unmatched(const std::string& path, const std::string& root,
                                const std::string& like = {}) const;

 private:
  struct FirstRow {
    std::string path, key, label;
    bool is_held = false;  // it may be a header, and is added behind the others
    bool has_suffix = false;
    std::uint64_t others = 0, rows_with_suffix = 0;  // with the same label, with that of a sample
  };
  void note_header(const LabelRow& row, const LabelListRequest& request);
  void add_row(std::string_view key, std::string_view label, const LabelListRequest& request);
  void read_rows(const LabelListRequest& request);
  void name_synsets(const LabelListRequest& request);
  void choose_match(const LabelListRequest& request);

  std::string path_;
  SortedTable<PlacedLabel> rows_;
  KeyMatch match_ = KeyMatch::path;
  KeyShapes shapes_;
  bool has_marks_ = false;  // of keys
  LeftOutList left_out_;
  std::vector<std::string> notes_;
  std::set<std::string, std::less<>> names_;
  LabelKinds kinds_;
  FirstRow first_;
  bool are_numbers_ = true, are_reals_ = false, has_likely_header_ = false;
  std::string previous_;  // the path of the last row
  bool has_previous_ = false;
};

}  // namespace shale
