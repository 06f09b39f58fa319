#pragma once

#include <cstdint>

#include "shale/image/image_info.hpp"
#include "shale/pixels/image_rule.hpp"

namespace shale {

/// Where the pixels of a result come from. An image is turned (if at all), scaled as a whole, and
/// then cropped; all sizes are those of the turned image.
struct ImageGeometry {
  unsigned turn = 1;  ///< the EXIF orientation that is applied to the pixels, 1: none
  std::uint32_t source_width = 0, source_height = 0;
  std::uint32_t scaled_width = 0, scaled_height = 0;
  std::uint32_t crop_x = 0, crop_y = 0;
  std::uint32_t width = 0, height = 0;  ///< of the result
  [[nodiscard]] bool is_resized() const {
    return scaled_width != source_width || scaled_height != source_height;
  }
  [[nodiscard]] bool is_cropped() const { return width != scaled_width || height != scaled_height; }
  /// False: the result's pixels are the source's.
  [[nodiscard]] bool changes_pixels() const { return turn != 1 || is_resized() || is_cropped(); }
};

/// The pixels of a side that is scaled by `other_to` / `other_from`, rounded down as torchvision's
/// Resize does, at least 1.
[[nodiscard]] std::uint64_t scaled_side(std::uint64_t side, std::uint64_t other_from,
                                        std::uint64_t other_to);

/// What `rule` makes of an image of `width` x `height` pixels as stored.
/// Rounding: `shorter` as torchvision's Resize(N), the other side is int(N * long / short);
/// `longer` and `fit` as Pillow's thumbnail(), the side that keeps the proportions best; the place
/// of a crop as torchvision's CenterCrop, halves to even. A result may be larger than 2^32 - 1
/// pixels a side: it is then given as that. If the image is smaller than the crop, width and height
/// are 0.
[[nodiscard]] ImageGeometry plan_geometry(std::uint32_t width, std::uint32_t height,
                                          unsigned orientation, const ImageRule& rule);

}  // namespace shale
