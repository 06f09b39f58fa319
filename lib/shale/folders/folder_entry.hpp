#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/folders/stored_listing.hpp"
#include "shale/io/walk.hpp"

namespace shale {

/// A file of a folder as an entry of its list: sorted bytewise, entries are in ImageFolder's order,
/// that of their classes, then of their folders, then of their names. `rank`: of the class among
/// the classes in that order; `folder`: where it is, relative to the root; no label: it lacks
/// one.
[[nodiscard]] std::string folder_entry(std::uint32_t rank, std::string_view folder,
                                       const WalkedFile& file, std::optional<std::int64_t> label);

/// The file of such an entry.
[[nodiscard]] ListedFile parse_folder_entry(std::string_view entry);

}  // namespace shale
