#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shale/format/source.hpp"
#include "shale/ops/open_dataset.hpp"

namespace shale {

/// The samples of a dataset, of any format, in its order or shuffled: the payload is read by the
/// index, never through the container's library, and each extent must have the crc32c that the
/// index gives, where it gives one.
[[nodiscard]] std::unique_ptr<Source> make_dataset_source(OpenedDataset dataset, bool is_shuffled,
                                                          std::uint64_t seed);

}  // namespace shale
