#pragma once

#include <string>
#include <vector>

#include "shale/sources/input_request.hpp"

namespace shale {

/// Inputs with names that are opened as one: arrays, folders of files, or one of anything else.
/// A table (table_source.hpp) is none of the inputs that stand alone.
struct JoinedGroup {
  enum class What { arrays, folders, archive, table, other };
  What what = What::other;
  std::string name, path;  ///< of the first
  std::vector<std::string> words;
  std::vector<std::string> names;  ///< of all
  [[nodiscard]] bool is_of_files() const { return what == What::folders || what == What::archive; }
};

/// The inputs that the words of a command join, as in "x=train_x.h5", "y=train_y.npy": all have
/// names, and at least two; or joined_by_fields() names them. A path that exists is a path,
/// whatever it looks like. Empty: the words are something else, also where all are folders of
/// files, or all arrays. A folder or pattern of arrays (files_of_set) is one word of theirs.
/// Errors: Code::not_found; Code::usage for a name that comes twice; Code::unsupported for an
/// archive that is compressed, a stream, or beside other files; same as files_of_set.
[[nodiscard]] std::vector<JoinedGroup> find_joined_groups(const std::vector<std::string>& words);

/// The words with names, where they are bare files of tables (HDF5) that have no field in common
/// and as many rows: they are parts of the same samples. Empty: they are not. Errors: same as
/// Format::list_contents.
[[nodiscard]] std::vector<std::string> joined_by_fields(const std::vector<std::string>& words);

/// Errors: Code::usage for an axis of no array of these inputs: "x=-1" is that of an input that is
/// an array, "x/images=-1" that of an array in an HDF5 file, or in another one that has several.
void refuse_axes_of_none(const std::vector<SampleAxis>& axes,
                         const std::vector<JoinedGroup>& groups);

/// Of a folder that has no images because it is not one of images: Code::unsupported, with what it
/// holds instead. One with an image among its names is refused for something else.
void refuse_other_files(const std::string& folder);

/// What is asked of one of them, of all that is asked of the join.
[[nodiscard]] InputRequest input_of_group(const InputRequest& request, const JoinedGroup& group);

}  // namespace shale
