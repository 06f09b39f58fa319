#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/folders/folder_request.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/io/walk.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/label_list.hpp"

namespace shale {

/// A file of a flat folder, and the same with what its row is found by.
struct FoundRow {
  std::string_view folder, name;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t offset = 0;
  static auto columns(auto& row) {
    return std::tie(row.folder, row.name, row.bytes, row.modified_ns, row.offset);
  }
};
struct PlacedRow {
  LabelPlace place;
  FoundRow found;
  std::uint64_t number = 0;
  static auto columns(auto& row) { return std::tie(row.place, row.found, row.number); }
};

/// The files of a flat folder, sorted on disk as a list of labels is. One thread.
class FoundFiles {
 public:
  FoundFiles(const std::string& scratch_folder, std::uint64_t memory_bytes)
      : scratch_folder_(scratch_folder),
        memory_bytes_(memory_bytes),
        files_(std::in_place, scratch_folder, memory_bytes) {}

  void add(std::string_view folder, const WalkedFile& file);
  void finish() { files_->finish(); }
  void rewind();
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Some of them are in folders.
  [[nodiscard]] bool are_nested() const { return are_nested_; }
  /// No path of them has a back-slash.
  [[nodiscard]] bool may_be_of_windows() const { return !have_back_slashes_; }
  /// Calls `use` for each, in their own order; before order_by.
  void for_each(const std::function<void(const WalkedFile& file)>& use);
  /// As LabelList::has_marks, of their names.
  [[nodiscard]] bool have_marks() const { return have_marks_; }

  /// In the order of the places that `labels` gives them.
  void order_by(const LabelList& labels, const std::function<void()>& stop_if_asked);
  struct File {
    LabelPlace place;          ///< that of LabelList::path_for
    WalkedFile file;           ///< its directory is the whole folder
    std::uint64_t number = 0;  ///< in sorted order, from 0
  };
  /// The next one, then nullopt. Views are valid until the next call.
  [[nodiscard]] std::optional<File> next();

 private:
  std::string scratch_folder_;
  std::uint64_t memory_bytes_;
  std::optional<SortedTable<FoundRow>> files_;
  std::optional<SortedTable<PlacedRow>> placed_;  // instead
  bool are_nested_ = false, have_back_slashes_ = false, have_marks_ = false;
  std::uint64_t number_ = 0, count_ = 0;
};

/// What the list of the request's file of labels is asked for.
[[nodiscard]] LabelListRequest label_list_request(const FolderRequest& request,
                                                  const SoughtFiles& sought);

/// Which label each file has.
struct LabelJoin {
  const FolderRequest& request;
  const SoughtFiles& sought;
  LabelList& labels;
  const std::optional<ClassTable>& table;
  /// Called for each file; no label: there is no row for it.
  std::function<void(const WalkedFile& file, std::optional<std::int64_t> label)> add;
  /// Called for each row that is not of a file.
  std::function<void(const LabelList::Row& row)> unmatched;
};

/// The label of a row: a number, or that of its class in the table; nullopt: it can be neither.
[[nodiscard]] std::optional<std::int64_t> label_if_any(const LabelJoin& join,
                                                       const LabelList::Row& row);
/// The same. Errors: Code::bad_content for none.
[[nodiscard]] std::int64_t label_of_row(const LabelJoin& join, const LabelList::Row& row);
/// The error for a file without row.
[[nodiscard]] Error no_label(const LabelJoin& join, const WalkedFile& file);

/// Joins both, in any order of the files, from their first ones on. Errors: Code::bad_content, by
/// name, for a class that is not in the table, for two files that one key names, for ground truth
/// of another number of files, for a first row without file that looks like a header, and for a
/// list without rows; where the request refuses what is incomplete, or nothing matches, also for a
/// file without row and a row without file.
void join_labels(FoundFiles& found, const LabelJoin& join);

/// The class names that files have, sorted bytewise; of ground truth those of all synsets. Needs
/// neither `table` nor the functions of the join. Errors: same as join_labels; Code::limit for more
/// names than a manifest may hold.
[[nodiscard]] std::vector<std::string> names_of_files(FoundFiles& found, const LabelJoin& join);

/// What `classes.names` or `classes.from` of the request says, with these classes behind it if they
/// may be; or the table of these alone. Errors: same as given_table and table_in_order.
[[nodiscard]] ClassTable table_with(const FolderRequest& request,
                                    const std::vector<std::string>& classes,
                                    const std::string& where);

/// Calls `add` with the label that each file has by its name (LabelPattern), or none where its name
/// does not fit; returns the class names, none where all labels are integers. Errors:
/// Code::bad_content where no name fits, and as of a list with these labels; Code::usage for the
/// pattern.
[[nodiscard]] std::vector<std::string> label_by_name(
    const FolderRequest& request, FoundFiles& found,
    const std::function<void(const WalkedFile& file, std::optional<std::int64_t> label)>& add);

/// The error for a class that the table of `request.classes.from` has not.
[[nodiscard]] Error unknown_class(const FolderRequest& request, std::string_view name,
                                  std::string_view where);

}  // namespace shale
