#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/image/header_view.hpp"
#include "shale/image/image_info.hpp"

namespace shale {

/// What one type's header reader found: everything of ImageInfo but `type` and `odd`, which
/// probe_image() fills in.
struct HeaderFacts {
  ImageInfo info;
  bool has_alpha = false;  ///< besides what info.color says: a tRNS chunk, an ALPH chunk ...
  bool has_trailing_bytes = false;  ///< bytes after the end of the image
  bool has_more_pages = false;      ///< further pages of a TIFF, frames of an animation
  bool is_float = false;            ///< its samples are floating point
};

// One reader per type. The bytes are untrusted, but begin with the type's signature. Errors: none,
// info.fault says it.
[[nodiscard]] HeaderFacts read_jpeg_header(Bytes bytes);
[[nodiscard]] HeaderFacts read_png_header(Bytes bytes);
[[nodiscard]] HeaderFacts read_gif_header(Bytes bytes);
[[nodiscard]] HeaderFacts read_bmp_header(Bytes bytes);
[[nodiscard]] HeaderFacts read_pnm_header(Bytes bytes);
[[nodiscard]] HeaderFacts read_tiff_header(Bytes bytes);
[[nodiscard]] HeaderFacts read_webp_header(Bytes bytes);
/// Of HEIC and AVIF.
[[nodiscard]] HeaderFacts read_heif_header(Bytes bytes);

// What two readers share, for those who decode the pixels or drop metadata.

enum BmpCompression : std::uint32_t {
  kBmpPlain = 0,
  kBmpRle8 = 1,
  kBmpRle4 = 2,
  kBmpMasks = 3,
  kBmpAlphaMasks = 6
};
inline constexpr std::uint64_t kBmpFileHeader = 14;

/// The fields of a BMP's headers; bmp_probe.cpp has the layout.
struct BmpHeader {
  std::uint64_t header_bytes = 0, pixels_begin = 0;
  std::uint64_t width = 0, height = 0;
  bool is_top_first = false;
  unsigned pixel_bits = 0;
  std::uint32_t compression = kBmpPlain, pixel_bytes = 0, colors = 0;
};
/// What is missing reads as 0. Errors: none.
[[nodiscard]] BmpHeader read_bmp_fields(const HeaderView& view);

/// The header of a PNM; pnm_probe.cpp has the layout.
struct PnmHeader {
  unsigned kind = 0;  // 1..6
  std::uint64_t width = 0, height = 0, top_level = 1;
  std::uint64_t pixels_begin = 0;
  ImageFault fault;
};
/// Errors: none, `fault` says it.
[[nodiscard]] PnmHeader read_pnm_fields(const HeaderView& view);

/// Where the white space and comments that begin at `at` end.
[[nodiscard]] std::uint64_t skip_pnm_gap(const HeaderView& view, std::uint64_t at);
[[nodiscard]] inline bool is_pnm_digit(std::uint8_t byte) { return byte >= '0' && byte <= '9'; }

/// Bytes of the color table of a GIF, or of a frame, with these flags.
[[nodiscard]] std::uint64_t gif_table_bytes(std::uint8_t flags);
/// Where the sub-blocks that begin at `at` end; beyond the view's end if they are truncated.
[[nodiscard]] std::uint64_t end_of_gif_blocks(const HeaderView& view, std::uint64_t at);

/// The orientation (1..8) that an EXIF block names, 1 if it names none. `tiff` begins with the
/// block's TIFF header ("II*\0" or "MM\0*"), or with the "Exif\0\0" that JPEG puts before it.
[[nodiscard]] unsigned exif_orientation(Bytes tiff);

// What is wrong, after the words that each code begins with.
template <class... Args>
[[nodiscard]] ImageFault truncated(fmt::format_string<Args...> what, Args&&... args) {
  return {ImageFaultCode::truncated,
          "is truncated: " + fmt::format(what, std::forward<Args>(args)...)};
}
template <class... Args>
[[nodiscard]] ImageFault no_pixels(fmt::format_string<Args...> what, Args&&... args) {
  return {ImageFaultCode::no_pixels,
          "has no pixels: " + fmt::format(what, std::forward<Args>(args)...)};
}
template <class... Args>
[[nodiscard]] ImageFault damaged(fmt::format_string<Args...> what, Args&&... args) {
  return {ImageFaultCode::damaged, "is damaged: " + fmt::format(what, std::forward<Args>(args)...)};
}
template <class... Args>
[[nodiscard]] ImageFault unsupported(fmt::format_string<Args...> what, Args&&... args) {
  return {ImageFaultCode::unsupported,
          "cannot be decoded here: " + fmt::format(what, std::forward<Args>(args)...)};
}

template <class... Args>
[[nodiscard]] ImageFault too_large(fmt::format_string<Args...> what, Args&&... args) {
  return {ImageFaultCode::too_large,
          "is too large: " + fmt::format(what, std::forward<Args>(args)...)};
}

/// The fault of a file that ends before its header says.
[[nodiscard]] ImageFault truncated_file(std::uint64_t found_bytes, std::uint64_t expected_bytes);
/// The fault of an image without a pixel.
[[nodiscard]] ImageFault empty_frame(std::uint64_t width, std::uint64_t height);

}  // namespace shale
