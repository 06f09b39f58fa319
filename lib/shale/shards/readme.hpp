#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shale/data/manifest.hpp"

// README.md, which says to `datasets` and to the Hub which files of a dataset are data: without it
// the lists beside the shards are guessed to be.

namespace shale {

inline constexpr std::string_view kReadmeName = "README.md";

/// Puts it beside the shards of the dataset in `folder`, or beside the datasets of `splits` in it,
/// if their format has one (Format::readme_fields). Of one whose first lines, the YAML, are shale's
/// these alone are replaced, or removed if the format has none; any other stays as it is. It is
/// made in `scratch`, a folder on the same file system. Errors: those of Format::readme_fields;
/// Code::io.
void put_readme(const std::string& folder, const std::string& scratch, const Manifest& manifest,
                std::span<const std::string> splits = {});

/// Of the README.md beside `folder`, if that is one of its splits and the YAML is shale's: leaves
/// out the features if this dataset has others, so that those in the files count. Errors: as above.
void settle_readme_of_splits(const std::string& folder, const std::string& scratch,
                             const Manifest& manifest);

/// What to say of a README.md that put_readme left as it was; empty: nothing. Errors: Code::io.
[[nodiscard]] std::string note_on_readme(const std::string& folder, const Manifest& manifest);

/// True for a file of which put_readme wrote the first lines. Errors: Code::io.
[[nodiscard]] bool is_own_readme(const std::string& path);

}  // namespace shale
