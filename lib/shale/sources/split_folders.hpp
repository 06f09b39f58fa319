#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/sources/input_request.hpp"

namespace shale {

/// A folder that consists of splits: train, val, valid, validation, test.
struct SplitFolders {
  std::vector<std::string> names;  ///< train first, the rest bytewise
  /// One table for all: the class folders of train, or, without it, those of all splits, sorted
  /// bytewise. Empty: the input brings its own, or the request does.
  std::vector<std::string> classes;
  std::string classes_from;  ///< the folder that they were taken from, for messages
  std::vector<std::string>
      without_classes;              ///< those that hold neither class folders nor a dataset
  std::vector<std::string> beside;  ///< names of what else is in the folder, the first few
  std::uint64_t others = 0;         ///< how many such entries there are
};

/// The splits of the input, if it is a folder whose sub-folders are all named after splits, and not
/// one of labelled files. Each may hold class folders, or a dataset of shale's. Reads two levels of
/// folders. Errors: Code::bad_content for a class that the table lacks, and for datasets beside
/// class folders; same as list_folder and load_class_table.
[[nodiscard]] std::optional<SplitFolders> find_split_folders(const InputRequest& request);

/// The request for one of them.
[[nodiscard]] InputRequest input_of_split(const InputRequest& request, const SplitFolders& splits,
                                          const std::string& name);

}  // namespace shale
