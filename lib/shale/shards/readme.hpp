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
/// if their format has one (Format::readme_fields); else removes the one of an earlier format. It
/// is made in `scratch`, a folder on the same file system. False: one that shale did not write, or
/// that somebody changed, stays as it is. Errors: those of Format::readme_fields; Code::io.
[[nodiscard]] bool put_readme(const std::string& folder, const std::string& scratch,
                              const Manifest& manifest, std::span<const std::string> splits = {});

/// True for a file as put_readme writes it. Errors: Code::io.
[[nodiscard]] bool is_own_readme(const std::string& path);

}  // namespace shale
