#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/image/image_metadata.hpp"
#include "shale/pixels/image_geometry.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {

/// What a mask becomes: the nearest samples, their values as the file stores them.
/// Empty fault: `into` holds `bytes`, a PNG of the mask's own bits, palette and channels, or,
/// `raw`, one byte per pixel (a gray level, a color's number in the palette, 0 and 1 of a bilevel
/// image).
struct MaskResult {
  ImageFault fault;
  std::uint64_t bytes = 0;
};
[[nodiscard]] MaskResult work_on_mask(Bytes image, const ImageInfo& info,
                                      const ImageGeometry& geometry, bool raw,
                                      const ImageMetadata& metadata, std::uint64_t limit_bytes,
                                      std::vector<std::byte>& into);
/// The memory that it takes at most, the writer of PNG not counted.
[[nodiscard]] std::uint64_t mask_bytes(const ImageInfo& info, const ImageGeometry& geometry);

}  // namespace shale
