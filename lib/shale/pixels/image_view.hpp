#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"
#include "shale/image/rgb.hpp"
#include "shale/pixels/filter_windows.hpp"
#include "shale/pixels/image_work.hpp"
#include "shale/pixels/simd_level.hpp"

namespace shale {

/// Pixels of an image as it is stored: EXIF orientation is not applied (nor does torchvision).
struct PixelBox {
  std::uint32_t x = 0, y = 0, width = 0, height = 0;
};

/// A box of an image, scaled: what a random crop of a training job asks for. As in torchvision,
/// which crops before it resizes, no pixel outside of the box has an influence on the result.
/// Of the scaled box the result may be a window: Resize(256) and CenterCrop(224) scale a box that
/// is the whole image to 341 x 256, and need 224 x 224 of that at 58, 16.
struct ImageView {
  PixelBox box;
  std::uint32_t width = 0, height = 0;                ///< of the result
  std::uint32_t scaled_width = 0, scaled_height = 0;  ///< of the box; 0: as the result
  std::uint32_t window_x = 0, window_y = 0;           ///< where in the scaled box the result begins
  FilterKernel kernel = FilterKernel::triangle;
  unsigned channels = 3;  ///< 3 RGB (gray images too), 1 gray by Pillow's convert("L")
  PixelOrder order = PixelOrder::hwc;
  /// A JPEG may be decoded at 1/2, 1/4 or 1/8, if the box is then still as large as what it is
  /// scaled to.
  bool scaled_decoding = true;
  /// Alpha and transparent colors are ignored, as by Pillow's convert("RGB"); else laid over white.
  bool drops_alpha = false;
  /// The result turned over: its columns, or its rows, in reverse order.
  bool is_mirrored = false, is_upside_down = false;

  [[nodiscard]] std::uint32_t whole_width() const {
    return scaled_width == 0 ? width : scaled_width;
  }
  [[nodiscard]] std::uint32_t whole_height() const {
    return scaled_height == 0 ? height : scaled_height;
  }
  [[nodiscard]] std::uint64_t size() const { return std::uint64_t{width} * height * channels; }
};

/// What a view takes: known from the image's header, no pixel is decoded.
struct ViewPlan {
  ImageFault fault;              ///< not empty: the image has no such view, and why
  unsigned dct_size = 8;         ///< of a JPEG: samples per side of a decoded block, 8, 4, 2 or 1
  std::uint64_t work_bytes = 0;  ///< memory that read_view() takes at most, besides the result
};

/// Plans a view of `image`, of which probe_image() said `info`. A fault of `info` is the plan's;
/// others are too-large (more than kMostImagePixels, or work_bytes above `limit_bytes`), damaged
/// and unsupported, as plan_image()'s. Thread-safe.
/// Errors: Code::bug for a box that is empty or not within the image, for an empty result, for a
/// window that is not within the scaled box, and for other than 1 or 3 channels. std::bad_alloc.
[[nodiscard]] ViewPlan plan_view(Bytes image, const ImageInfo& info, const ImageView& view,
                                 std::uint64_t limit_bytes = kImageWorkLimit);

/// Decodes what the window needs of the box and filters it into `into`: view.size() bytes, (height,
/// width, channels) or (channels, height, width). A window's bytes are those of its part of the
/// whole.
/// - JPEG: the rows above are entropy-decoded only, columns beside it too, and what is below is
///   not read. At full size (dct_size 8) the pixels in the box are those of RgbDecoder, to
///   the byte. Damage up to the last row that is needed is a fault, as in read_jpeg_frame(); damage
///   below it is not seen, but by probe_image(). A progressive image is read to its end.
/// - other types: decoded as a whole, then filtered; alpha is laid over white, or dropped.
/// Filters: those of Pillow's resize() of the cropped image, within one level. All SIMD levels give
/// the same bytes. `plan` is plan_view()'s of the same arguments, without a fault.
/// The bytes are untrusted. Returns a fault if the image does not decode; `into` then has any
/// content. Thread-safe. Errors: std::bad_alloc; Code::bug for a plan with a fault and for memory
/// of another size.
[[nodiscard]] ImageFault read_view(Bytes image, const ImageInfo& info, const ImageView& view,
                                   const ViewPlan& plan, std::span<std::byte> into,
                                   SimdLevel level = best_simd_level());

}  // namespace shale
