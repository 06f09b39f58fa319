#pragma once

#include <cstdint>

#include "shale/pixels/image_rule.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {

/// `from` turned, scaled and cropped as `geometry` says, in 8 or 16 bits and with alpha if `shape`
/// has it: for what Scaler, which takes opaque rows of 8 bits, would lose. The filter is the same,
/// with weights of 24 bits, and all of it is in integers; what only is turned or cropped keeps its
/// values. Colors are weighed by their alpha, so that what cannot be seen does not bleed into what
/// can. Thread-safe. Errors: std::bad_alloc.
[[nodiscard]] Picture scale_finely(const Picture& from, const ImageGeometry& geometry,
                                   const FineShape& shape);
/// What it takes at most, with the result, for `channels` of 16 bits.
[[nodiscard]] std::uint64_t fine_scaler_bytes(const ImageGeometry& geometry,
                                              std::uint32_t stored_width,
                                              std::uint32_t stored_height, unsigned channels);

}  // namespace shale
