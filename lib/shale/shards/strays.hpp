#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/io/walk.hpp"

namespace shale {

/// What lies beside a dataset under names that only shale gives, and belongs neither to it nor to
/// an append that is under way: the first 1000 by name, and how many there are.
struct Strays {
  std::vector<FolderEntry> first;
  std::uint64_t count = 0;
};
/// Errors: same as list_folder.
[[nodiscard]] Strays strays_beside(const std::string& directory, const Manifest& manifest);

}  // namespace shale
