#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shale/format/source.hpp"

namespace shale {

/// The samples of a finished shale dataset, of any format, in its order or shuffled: the payload is
/// read by the index, never through the container's library, and each extent must have the crc32c
/// that the index gives. Errors: as read_manifest.
[[nodiscard]] std::unique_ptr<Source> open_dataset_source(const std::string& directory,
                                                          bool is_shuffled, std::uint64_t seed);

}  // namespace shale
