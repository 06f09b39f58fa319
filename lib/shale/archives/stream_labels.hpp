#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/folders/label_join.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/searchable_table.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/labels/label_list.hpp"

namespace shale {

/// The label of a row, by the hash of the place that it names.
struct LabelOfPlace {
  Hash128 place;
  std::int64_t label = 0;
  bool is_wrong = false;  ///< no file may have it, which is an error when one does
  static auto columns(auto& row) { return std::tie(row.place, row.label, row.is_wrong); }
};

/// The labels of the files of a stream: the rows of a labels file, looked up as the files come. Who
/// has no row, and which rows have no file, is as for a folder of these files. Memory: a share of
/// the request's, and the class names. One thread.
class StreamLabels {
 public:
  /// Reads the whole labels file. `root`: the stream and the folder in it, for errors. Errors: same
  /// as LabelList.
  StreamLabels(const FolderRequest& request, const SoughtFiles& sought, std::string root);

  /// Empty: labels are numbers.
  [[nodiscard]] std::vector<std::string> class_names() const;
  /// Of all rows in the order of their keys, and of how keys are matched.
  [[nodiscard]] Hash128 digest() const { return digest_; }
  /// The label of the next file; nullopt: it has no row. `path`: in the folder, with slashes.
  /// Errors: Code::bad_content for a class that the table lacks; for ground truth, a file without a
  /// number in its name.
  [[nodiscard]] std::optional<std::int64_t> label_of(std::string_view path, std::uint64_t bytes);
  /// At the end of the stream: calls `unmatched` with the key of each row without a file. Errors:
  /// same as join_labels.
  void finish(const std::function<void(const std::string& key)>& unmatched);
  /// Columns of the file that are neither keys nor labels.
  [[nodiscard]] const LeftOutList& left_out() const { return labels_.left_out(); }
  /// How the file was read; known after finish().
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void index_rows();
  [[nodiscard]] LabelJoin join();
  [[nodiscard]] std::string path_for(std::string_view folder, std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> find(const LabelPlace& place);
  [[nodiscard]] std::int64_t label_in_list(const LabelPlace& place);

  FolderRequest request_;
  const SoughtFiles& sought_;
  LabelList labels_;
  std::optional<ClassTable> table_;
  SearchableTable<LabelOfPlace> rows_;
  FoundFiles found_;
  Hash128 digest_;
};

}  // namespace shale
