#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/folders/folder_request.hpp"
#include "shale/manifest/stored_listing.hpp"

namespace shale {

/// What a listing for this request says of what it was made of: the folder, the files that labels
/// and classes come from with their sizes and times, and the options.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> listing_facts(
    const FolderRequest& request);

/// True if a listing was made for this request, and of metadata that is as it was.
[[nodiscard]] bool is_of_listing(const FolderRequest& request, const ListingHead& head);
/// The error for one of another request.
[[nodiscard]] Error other_listing(const FolderRequest& request, const ListingHead& head);

}  // namespace shale
