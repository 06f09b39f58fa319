#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"

namespace shale {

/// What one type's header reader found: everything of ImageInfo but `type` and `odd`, which
/// probe_image() fills in.
struct HeaderFacts {
  ImageInfo info;
  bool has_alpha = false;  ///< besides what info.color says: a tRNS chunk, an ALPH chunk ...
  bool has_trailing_bytes = false;  ///< bytes after the end of the image
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

/// The fault of a file that ends before its header says.
[[nodiscard]] ImageFault truncated_file(std::uint64_t found_bytes, std::uint64_t expected_bytes);
/// The fault of an image without a pixel.
[[nodiscard]] ImageFault empty_frame(std::uint64_t width, std::uint64_t height);

}  // namespace shale
