#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/folders/folder_source.hpp"
#include "shale/labels/class_table.hpp"

namespace shale {

/// The class folders of a stream, as they come: labels by a table that was there before, or by
/// their names, if these are numbers.
class StreamClasses {
 public:
  /// `root`: the stream and the folder in it, for errors.
  StreamClasses(const FolderRequest& request, std::string root);

  /// By label; empty where names are numbers.
  [[nodiscard]] const std::vector<std::string>& names() const { return table_.names(); }
  /// Where in the archive a class was met: a folder, or what is in it; an archive in the archive,
  /// or what is in that.
  enum class Place { folder, archive, in_archive };
  /// The label of the class whose folder has that name. Errors: Code::bad_content, by name, for one
  /// that the table lacks, for a split, for one that is there as an archive and once more;
  /// Code::usage for one whose name is not a number, where there is no table.
  std::int64_t meet(std::string_view name, Place place);
  /// There is a file of the class that was met last.
  void note_file();
  /// The first folder without files; nullptr: there is none.
  [[nodiscard]] const std::string* first_empty() const;

 private:
  struct Facts {
    std::int64_t label = 0;
    bool is_archive = false, is_folder = false, has_files = false;
  };
  using Classes = std::map<std::string, Facts, std::less<>>;

  [[nodiscard]] std::int64_t label_of(std::string_view name) const;

  std::string root_, table_from_;
  bool has_table_, extends_set_, takes_unknown_;
  ClassTable table_;
  ClassAllowance allowance_;
  Classes classes_;
  Classes::iterator last_;
};

}  // namespace shale
