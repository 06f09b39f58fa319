#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"

namespace shale {

/// True for the file names that torchvision.datasets.ImageFolder takes as images (any case): .jpg
/// .jpeg .png .ppm .bmp .pgm .tif .tiff .webp, and for the other suffixes of JPEG, .jpe and .jfif.
/// Source: torchvision/datasets/folder.py, IMG_EXTENSIONS.
[[nodiscard]] bool has_image_suffix(std::string_view name);

/// True for these, and for pictures of other types that are decoded but rarely read as they are:
/// .gif, and with libheif .heic .heif .hif .avif (any case).
[[nodiscard]] bool has_decodable_suffix(std::string_view name);

/// True if a file called `name` may hold `type` (a ".jpg" or ".jpeg" a JPEG, a ".ppm" or ".pgm" a
/// PNM ..., any case). A suffix that names no image type (or none at all) claims nothing and fits
/// every type.
[[nodiscard]] bool suffix_fits(std::string_view name, ImageType type);

/// By how a file begins; `head` holds its first kImageHeadBytes, or all of it.
inline constexpr std::uint64_t kImageHeadBytes = 256;
[[nodiscard]] ImageType image_type_of(Bytes head);

/// Reads the header of an image file and what of its end tells whether it is whole. `name` is for
/// "wrong-suffix". Bytes are untrusted: any input gives an answer, never an exception but
/// std::bad_alloc. Thread-safe.
[[nodiscard]] ImageInfo probe_image(Bytes bytes, std::string_view name);

struct DecodeResult {
  bool was_decoded = false;  ///< false: no decoder for it here; only probe_image's checks apply
  std::string fault;         ///< "does not decode ...", empty: nothing speaks against it
};
/// Decodes the whole image and throws the pixels away.
/// JPEG by libjpeg-turbo (warnings of corrupt data count), PNG by libpng (every chunk's checksum
/// included). Other types, and JPEGs that libjpeg-turbo does not support (12 bits, lossless), are
/// not decoded. Memory: rows, for progressive JPEG all coefficients; an image that needs more than
/// `limit_bytes` is a fault. Bytes are untrusted: any input gives an answer, never an exception but
/// std::bad_alloc. Thread-safe.
[[nodiscard]] DecodeResult decode_and_discard(Bytes bytes, ImageType type,
                                              std::uint64_t limit_bytes = std::uint64_t{512} << 20);

}  // namespace shale
