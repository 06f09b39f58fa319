#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shale/folders/folder_request.hpp"
#include "shale/folders/folder_row.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/format/source.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/io/walk.hpp"
#include "shale/partners/file_pairs.hpp"
#include "shale/partners/pair_patterns.hpp"

namespace shale {

/// The reason of a file that belongs to no sample.
inline constexpr std::string_view kNoSample = "no sample has its name";

/// The reason of an entry that a walk passes over, as lists have it.
[[nodiscard]] std::string_view text_of(PassedOver reason);

/// The files of all folders behind the first one, for `pairs`. `pass_over` is told of all other
/// entries: "mask=cat/1.png".
void add_joined_folders(const FolderRequest& request, FilePairs& pairs,
                        const ReasonSink& pass_over);
/// Joins them with the samples, which `pairs` has; `pass_over` is told of those that belong to
/// none.
void match_joined_folders(const FolderRequest& request, FilePairs& pairs,
                          const ReasonSink& pass_over);

/// Gives `pairs` the samples in `files`, which are then at their begin again.
void add_samples(const FolderRequest& request, const PairPatterns& patterns,
                 SortedTable<FolderRow>& files, FilePairs& pairs);

/// Finds the types of the arrays that fields of `pairs` may hold (`may_hold_arrays`), by reading
/// the headers of all that belong to the samples in `files`; what the user should know of them.
[[nodiscard]] std::vector<std::string> find_partner_arrays(
    const FolderRequest& request, FilePairs& pairs, SortedTable<FolderRow>& files, FileTree& tree,
    const std::function<bool(std::size_t)>& may_hold_arrays);

/// A file beside samples that may belong to one: for `pairs`, by a pattern or by its suffix. False:
/// it cannot.
[[nodiscard]] bool add_partner_file(const PairPatterns& patterns, FilePairs& pairs,
                                    std::string_view folder, const WalkedFile& file);
/// Whether the files of a field are arrays, unless somebody has said what they are.
[[nodiscard]] bool may_hold_arrays(const PairField& field, const PairRequest& request);

/// Errors: Code::bad_content for a hidden class folder that holds samples, unless the request says
/// what becomes of these.
void refuse_hidden_images(const FolderRequest& request, FileTree& tree, const SoughtFiles& sought,
                          const std::string& name);

}  // namespace shale
