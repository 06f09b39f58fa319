#pragma once

#include <cstdint>

#include "shale/image/image_info.hpp"

namespace shale {

/// How large an image becomes.
enum class Resize {
  none,
  shorter,  ///< the shorter side becomes ImageRule::width
  longer,   ///< the longer side becomes ImageRule::width
  fit,      ///< as large as fits into width x height, in its own proportions
  exact,    ///< width x height, whatever its proportions
};

/// What the result of a change is stored as.
enum class EncodeAs {
  keep,  ///< JPEG stays JPEG, PNG stays PNG, everything else becomes PNG
  jpeg,
  png,
  raw,  ///< the pixels themselves: (height, width[, channels]) u8 or u16
};

/// Bits a channel of what a change makes. The values of masks always stay.
enum class Depth {
  keep,     ///< as the image has: more than 8 become 16
  eight,    ///< of more than 8 bits the upper 8
  sixteen,  ///< fewer are scaled up
};

/// What the channels of a change are.
enum class Color {
  keep,  ///< as the image has them
  rgb,   ///< gray is repeated
  gray,  ///< of YCbCr its Y, of RGB what Pillow's convert("L") takes
};

/// What is to be done to the images of one field: plain data, from --resize, --only-larger, --crop,
/// --encode, --quality, --apply-rotation and --strip-metadata. docs/image_pixels.md explains each.
struct ImageRule {
  Resize resize = Resize::none;
  std::uint32_t width = 0, height = 0;  ///< of `resize`; shorter and longer use only `width`
  bool only_larger = false;             ///< images that are no larger than that are not resized
  std::uint32_t crop_width = 0, crop_height = 0;  ///< center crop after the resize; 0: none
  EncodeAs encode = EncodeAs::keep;
  unsigned quality = 90;        ///< of JPEG, 1..100
  bool apply_rotation = false;  ///< turn the pixels as the EXIF orientation says, and reset it
  bool strip_metadata = false;
  /// A mask: nearest sample, never lossy, values as they are stored (palette, gray, 16 bit, 1 bit).
  bool is_mask = false;
  Depth depth = Depth::keep;
  /// Alpha is laid over white; else a PNG keeps it (a JPEG and raw pixels have none).
  bool alpha_over_white = false;
  Color color = Color::keep;
  /// Of EncodeAs::raw, whose results are all alike: what one value takes, whether they are gray,
  /// and their sides (0: any). An image of which Depth::keep, Color::keep or the other options make
  /// something else is at fault; only gray is repeated where others have colors.
  unsigned raw_bytes = 1;
  bool raw_is_gray = false;
  std::uint32_t raw_width = 0, raw_height = 0;
  bool raw_is_planar = false;  ///< channels first: (channels, height, width)

  /// True: every image passes untouched.
  [[nodiscard]] bool changes_nothing() const {
    return resize == Resize::none && crop_width == 0 && encode == EncodeAs::keep &&
           !apply_rotation && !strip_metadata && (is_mask || depth != Depth::eight) &&
           (is_mask || (!alpha_over_white && color == Color::keep));
  }
  /// Of EncodeAs::raw: values per pixel.
  [[nodiscard]] unsigned raw_channels() const { return is_mask || raw_is_gray ? 1 : 3; }
  friend bool operator==(const ImageRule&, const ImageRule&) = default;
};

/// The largest side that a rule may ask for.
inline constexpr std::uint32_t kLargestSide = 65535;

/// Errors: Code::usage for a rule that no image could follow: a side of 0 or above kLargestSide,
/// one side of a crop without the other, a quality outside of 1..100, a mask as JPEG.
void check_rule(const ImageRule& rule);

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

/// Which way a JPEG goes to its scaled planes.
/// - planes: Y, Cb and Cr (or gray) are scaled as they are stored, each from its own resolution to
///   that of the result: no color conversion, no chroma resampling besides
/// - rows: libjpeg makes gray or RGB rows of full size: CMYK, YCCK, RGB, and pixels that are only
///   decoded (then they are Pillow's)
struct JpegRoute {
  bool in_planes = false;
  unsigned dct_size = 8;                        ///< samples per block side: 8, 4, 2 or 1
  unsigned chroma_across = 1, chroma_down = 1;  ///< pixels per sample of the result's chroma
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
