#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"

namespace shale {

/// A whole image in memory, with the values that its file stores: what every decoder but JPEG's
/// makes. photo_row() makes 8-bit gray or RGB of it, a mask takes the values.
struct Picture {
  std::uint32_t width = 0, height = 0;
  unsigned channels = 1;          ///< 1 gray or palette, 2 gray and alpha, 3 RGB, 4 RGB and alpha
  unsigned bits = 8;              ///< per sample, 1..16, as stored in a PNG: 1, 2, 4, 8, 16
  std::uint32_t top_level = 255;  ///< the level of full intensity; of a PNM perhaps any number
  bool has_palette = false;
  bool is_gray_palette = false;  ///< every color of it is a gray
  std::vector<std::array<std::uint8_t, 3>> palette;
  std::vector<std::uint8_t> palette_alpha;  ///< of the first colors; the others are opaque
  std::optional<std::array<std::uint16_t, 3>> transparent;  ///< the transparent gray or RGB
  std::vector<std::uint8_t> samples;  ///< rows; two bytes each, little-endian, above 8 bits

  [[nodiscard]] std::size_t sample_bytes() const { return bits > 8 ? 2 : 1; }
  [[nodiscard]] std::size_t pixel_bytes() const { return channels * sample_bytes(); }
  [[nodiscard]] std::size_t row_bytes() const { return pixel_bytes() * width; }
  [[nodiscard]] std::uint8_t* row(std::uint64_t y) { return samples.data() + y * row_bytes(); }
  [[nodiscard]] const std::uint8_t* row(std::uint64_t y) const {
    return samples.data() + y * row_bytes();
  }
  /// 1 for gray, 3 for color: what photo_row() makes.
  [[nodiscard]] unsigned photo_channels() const {
    return has_palette ? (is_gray_palette ? 1 : 3) : (channels <= 2 ? 1 : 3);
  }
  /// Sets the palette's colors, and is_gray_palette. Samples that have no color in it are black.
  void set_palette(std::vector<std::array<std::uint8_t, 3>> colors);
};

/// The gray of a color, with weights of 16 bits, rounded, as Pillow's convert("L") has it.
[[nodiscard]] constexpr unsigned luma_of(unsigned red, unsigned green, unsigned blue) {
  return static_cast<unsigned>((std::uint64_t{red} * 19595 + std::uint64_t{green} * 38470 +
                                std::uint64_t{blue} * 7471 + 0x8000) >>
                               16);
}

/// What becomes of alpha, and of colors that are transparent.
enum class AlphaRule { over_white, dropped };

/// Row `y` as 8-bit gray or RGB, photo_channels() a pixel. Fewer bits are scaled to 0..255, of 16
/// bits the upper 8 are taken (as Pillow, OpenCV and decode_png_rgb() do; any other top level is
/// scaled, with rounding), alpha is laid over white or dropped.
void photo_row(const Picture& picture, std::uint64_t y, std::uint8_t* into,
               AlphaRule rule = AlphaRule::over_white);

/// What a picture's own values become: 8 or 16 bits, with alpha or over white.
struct FineShape {
  unsigned colors = 3;  ///< 1 or 3; other than photo_channels(): luma, or gray repeated
  bool has_alpha = false;
  unsigned bits = 16;  ///< 8 or 16
  [[nodiscard]] unsigned channels() const { return colors + (has_alpha ? 1 : 0); }
  [[nodiscard]] unsigned top_level() const { return (1U << bits) - 1; }
};

/// True if a pixel of `picture` may be less than opaque.
[[nodiscard]] bool has_alpha(const Picture& picture);

/// Row `y` in that shape: shape.channels() a pixel. Levels are scaled to all of the bits; from 16
/// bits to 8 as photo_row() does it.
void fine_row(const Picture& picture, std::uint64_t y, const FineShape& shape, std::uint16_t* into);

/// What a decoder made of a file. No picture: `fault` says why.
struct DecodedPicture {
  Picture picture;
  ImageFault fault;
};

// The decoders. `info` is what the header said; a picture has its width and height or there is
// none. Memory: the samples, and what picture_bytes() counts for the codec. The bytes are
// untrusted; damage anywhere in the pixels is a fault. `exact`: samples as they are stored, for a
// mask; else a decoder may make 8-bit RGB of what is rare. Errors: std::bad_alloc. Thread-safe.
[[nodiscard]] DecodedPicture decode_png(Bytes bytes, const ImageInfo& info);
[[nodiscard]] DecodedPicture decode_gif(Bytes bytes, const ImageInfo& info);
[[nodiscard]] DecodedPicture decode_bmp(Bytes bytes, const ImageInfo& info);
[[nodiscard]] DecodedPicture decode_pnm(Bytes bytes, const ImageInfo& info);
[[nodiscard]] DecodedPicture decode_webp(Bytes bytes, const ImageInfo& info);
/// HEIC and AVIF, by libheif.
[[nodiscard]] DecodedPicture decode_heif(Bytes bytes, const ImageInfo& info);
[[nodiscard]] DecodedPicture decode_tiff(Bytes bytes, const ImageInfo& info, bool exact,
                                         std::uint64_t limit_bytes);
/// A JPEG as gray or RGB at full size: for masks.
[[nodiscard]] DecodedPicture decode_jpeg_exactly(Bytes bytes, const ImageInfo& info,
                                                 std::uint64_t limit_bytes);

/// Of any type, by info.type.
[[nodiscard]] DecodedPicture decode_picture(Bytes bytes, const ImageInfo& info, bool exact,
                                            std::uint64_t limit_bytes);
/// The most memory that decode_picture() takes.
[[nodiscard]] std::uint64_t picture_bytes(const ImageInfo& info);

/// Allocates the samples, all 0.
[[nodiscard]] Picture blank_picture(std::uint32_t width, std::uint32_t height, unsigned channels,
                                    unsigned bits);

}  // namespace shale
