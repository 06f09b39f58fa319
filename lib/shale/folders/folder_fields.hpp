#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/folders/folder_row.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/format/source.hpp"
#include "shale/io/sorted_table.hpp"

namespace shale {

class FileTree;

/// What the samples of a folder are made of.
struct FolderParts {
  const FolderRequest& request;  ///< with the folders that are joined, and their types
  const SoughtFiles& sought;
  const std::vector<Field>& own;  ///< the arrays in the files themselves; none: these are bytes
  const std::vector<Field>& metadata;
  const std::string& pairs;          ///< kPairsOption
  const std::string& image_folders;  ///< FilePairs::image_folders()
  bool has_labels = true;
};

/// Fields and image fields of `info`. Returns of each field but those of metadata the tensor that
/// its .npy files hold, or null. Errors: Code::bad_content for two fields of one name.
[[nodiscard]] std::vector<std::shared_ptr<const Field>> make_folder_fields(const FolderParts& parts,
                                                                           SourceInfo& info);

/// The types of arrays as kSuffixesOption has them behind the bar, and back.
[[nodiscard]] std::string own_arrays_text(const std::vector<Field>& own);
[[nodiscard]] std::vector<Field> own_arrays_of(std::string_view text);

/// Samples that are files of arrays: the fields that they become, by the headers of all; those of
/// an earlier run, `standing`, where these take their values, too. Adds notes to `info`, and what
/// is left out of the files. None: the files are bytes. Errors: those of ArrayHeaders.
[[nodiscard]] std::vector<Field> find_own_arrays(const FolderRequest& request,
                                                 const SoughtFiles& sought,
                                                 SortedTable<FolderRow>& files, FileTree& tree,
                                                 SourceInfo& info);

}  // namespace shale
