#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/sources/named_folders.hpp"

namespace shale {

/// An input that consists of splits (train, val, valid, validation, test): a folder, or a file of
/// arrays that are named after them.
struct SplitFolders {
  std::vector<std::string> names;  ///< train first, the rest bytewise
  /// One table for all: the class folders of train, or, without it, those of all splits, sorted
  /// bytewise. Empty: the input brings its own, or the request does.
  std::vector<std::string> classes;
  /// Of folders whose names are other spellings of splits, "TRAIN", "seg_test": each by its split.
  std::map<std::string, std::string> spelled = {};
  std::string classes_from;               ///< the folder that they were taken from, for messages
  std::vector<std::string> beside;        ///< names of what else is in the folder, the first few
  std::uint64_t others = 0;               ///< how many such entries there are
  std::shared_ptr<FileTree> tree;         ///< of the input, if that is an archive; null: a folder
  std::vector<NamedFolder> folders = {};  ///< that are joined, each with all splits; empty: one
  /// Of a folder of files of other tools, those of each name; empty: the splits are folders.
  std::vector<SetOfSplit> files = {};
  /// Of a file of arrays, those of each name, and their names without it; empty: it is a folder.
  std::vector<FieldChoice> columns = {};

  /// Of one of them, in the input.
  [[nodiscard]] const std::string& folder_of(const std::string& name) const {
    const auto found = spelled.find(name);
    return found == spelled.end() ? name : found->second;
  }
};

/// The splits of the input, if it is a folder, or one in a tar archive, whose sub-folders are all
/// named after splits, however these are spelled, and not one of labelled files; of several folders
/// that are joined, those of the first, which all must have. Each may hold class folders, or, in a
/// folder, a dataset of shale's. Or the folder's files are those of splits (files_of_splits). Reads
/// two levels of folders; of an archive the headers, once for all splits, which share `tree`.
/// Errors: Code::bad_content for a class that the table lacks, and for datasets beside class
/// folders; same as files_of_splits, list_folder, open_archive_tree and load_class_table.
[[nodiscard]] std::optional<SplitFolders> find_split_folders(const InputRequest& request,
                                                             const Events& events);

/// The sources of the splits of a dataset, to be compared with them, as a command names them: the
/// folders of their names, or the files, where `sources` are one folder or archive of splits, too,
/// or folders that are joined; else the sources of all. Errors: same as open_archive_tree and
/// find_named_folders.
[[nodiscard]] std::vector<std::vector<std::string>> sources_of_splits(
    const std::vector<std::string>& sources, const std::vector<std::string>& names,
    const Events& events);

/// The source of one split, which the folder of the dataset is named after, as a command names it:
/// the split of that name, where `source` is a folder of splits, or of datasets per split; else
/// `source`. Errors: same as find_split_folders.
[[nodiscard]] std::vector<std::string> source_of_split(const std::string& source,
                                                       const std::string& dataset,
                                                       const Events& events);

/// The request for one of them.
[[nodiscard]] InputRequest input_of_split(const InputRequest& request, const SplitFolders& splits,
                                          const std::string& name);

}  // namespace shale
