#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "shale/base/error.hpp"
#include "shale/io/nameless_file.hpp"

namespace shale {

/// What InputFile opens bytes of a nameless file by, as a file of their own: a copy in memory. So
/// many small files take one descriptor.
[[nodiscard]] std::string link_of_part(const NamelessFile& file, std::uint64_t offset,
                                       std::uint64_t bytes);

/// A descriptor of that copy; nullopt for any other path. Errors: Code::io; Code::damaged.
[[nodiscard]] std::optional<int> open_part(const std::string& path);

}  // namespace shale
