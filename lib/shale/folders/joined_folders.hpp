#pragma once

#include <string>
#include <string_view>

#include "shale/folders/file_pairs.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/format/source.hpp"
#include "shale/io/walk.hpp"

namespace shale {

/// Adds the files of all folders of the request but the first to `pairs`, each known by the name of
/// its folder. `pass_over` is told of hidden entries and of those that are not files. Errors: same
/// as walk_folder.
void add_joined_files(const FolderRequest& request, FilePairs& pairs, const ReasonSink& pass_over);

/// How a file of such a folder is called in lists: "mask=cat/1.png".
[[nodiscard]] std::string joined_entry(std::string_view field, std::string_view folder,
                                       std::string_view name);

/// Why an entry of a folder is passed over, as lists say it.
[[nodiscard]] std::string_view text_of(PassedOver reason);

}  // namespace shale
