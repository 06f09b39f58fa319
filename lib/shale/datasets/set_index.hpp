#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/opened_dataset.hpp"

// The index of a set of files of another tool: one manifest, and an index per file, in
// FOLDER/.shale-index or in --index-dir (docs/index.md). A shard's line has the path of its file in
// the folder of the set, its size and its state.

namespace shale {

/// Where the index of a set is: `index_folder`, or in the folder that is the set. Empty: a pattern
/// or a list has no place of its own.
[[nodiscard]] std::string folder_of_set_index(const std::string& path,
                                              const std::string& index_folder);

/// A file of a set that is named by its index, and that nobody left out: it is gone, but not its
/// folder.
[[nodiscard]] bool has_vanished(const std::string& file);

/// Files by their paths in a folder that holds all of them.
struct RootedFiles {
  std::string folder;              ///< absolute
  std::vector<std::string> names;  ///< "part-2.tfrecord", in the order of the files
};
/// `path`: the set; where that is not a folder, the deepest one that holds all files.
[[nodiscard]] RootedFiles rooted(const std::string& path, const std::vector<SetMember>& files);

/// With DatasetRequest::trusts_names: a folder of many files, each of which is there by its name.
/// nullopt: it is none, or names do not tell, so that open_set_index has to look.
[[nodiscard]] std::optional<OpenedDataset> open_large_set(
    const DatasetRequest& request, std::uint64_t most_sized_files = kMostSizedFiles);

/// The files as their index says, or nullopt: there is none, or it is not what is asked for. What
/// is in the set and not in the index is said in a note. Errors: Code::damaged for a file that is
/// missing; Code::mismatch for one that has changed since it was indexed, and for files in another
/// order; same as read_manifest.
[[nodiscard]] std::optional<OpenedDataset> open_set_index(const DatasetRequest& request,
                                                          const std::vector<SetMember>& files,
                                                          const Events& events);

/// Compares the content of each file with what was indexed. Errors: Code::mismatch.
void refuse_changed_members(const DatasetRequest& request, const OpenedDataset& set,
                            const Events& events);

/// Refuses the folder of such an index where a dataset is needed. Errors: Code::usage.
void refuse_set_index(const Manifest& manifest, const std::string& path);

}  // namespace shale
