#pragma once

#include <optional>

#include "shale/base/inflate.hpp"

namespace shale {

/// What the frames of a file were compressed with, from the beginning of the file; nullopt if they
/// were not, or if there are no frames.
[[nodiscard]] std::optional<Compression> compression_of_frames(Bytes head);

}  // namespace shale
