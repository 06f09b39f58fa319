#pragma once

#include <string_view>

#include "shale/folders/file_pairs.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/format/source.hpp"
#include "shale/io/walk.hpp"

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

}  // namespace shale
