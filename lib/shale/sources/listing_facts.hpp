#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shale/sources/folder_request.hpp"

namespace shale {

/// What a listing for this request says of what it was made of: the folder, the files that labels
/// and classes come from with their sizes and times, and the options.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> listing_facts(
    const FolderRequest& request);

}  // namespace shale
