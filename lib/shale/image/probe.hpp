#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// An image file's type, by its content. `unknown`: none of these.
enum class ImageType { unknown, jpeg, png, gif, bmp, pnm, tiff, webp };
[[nodiscard]] std::string_view name_of(ImageType type);

/// True for the file names that torchvision.datasets.ImageFolder takes as images (any case): .jpg .jpeg .png .ppm .bmp
/// .pgm .tif .tiff .webp. Source: torchvision/datasets/folder.py, IMG_EXTENSIONS.
[[nodiscard]] bool has_image_suffix(std::string_view name);

/// True if a file called `name` may hold `type` (a ".jpg" or ".jpeg" a JPEG, a ".ppm" or ".pgm" a PNM ...).
[[nodiscard]] bool suffix_fits(std::string_view name, ImageType type);

/// What the header of an image says. Nothing is decoded: a few microseconds an image.
struct ImageInfo {
  ImageType type = ImageType::unknown;
  std::uint32_t width = 0, height = 0;  ///< pixels, as stored (before EXIF rotation)
  std::string color;  ///< "gray", "gray-alpha", "rgb", "rgba", "palette", "ycc", "cmyk", "ycck", "bilevel"
  unsigned bits = 8;        ///< per channel
  unsigned orientation = 1; ///< EXIF orientation 1..8

  /// What is odd but readable, sorted: "alpha", "cmyk" (CMYK and YCCK), "exif-rotated", "gray", "palette", "sixteen-bit",
  /// "trailing-bytes", "wrong-suffix".
  std::vector<std::string_view> odd;
  /// Why the bytes cannot be a whole image, empty if nothing speaks against it: "is empty", "is not an image of a known type",
  /// "is cut: JPEG without end-of-image marker", "is cut: ... N bytes, its header says M" ...
  std::string fault;
};

/// Reads the header of an image file and what of its end tells whether it is whole. `name` is for "wrong-suffix".
/// Bytes are untrusted: any input gives an answer, never an exception. Thread-safe.
[[nodiscard]] ImageInfo probe_image(Bytes bytes, std::string_view name);

/// Decodes the whole image and throws the pixels away. Nullopt if it decodes; else what the decoder said.
/// JPEG by libjpeg-turbo (warnings, as for corrupt data, count), PNG by libpng (checksums included). Memory: at most
/// `limit_bytes` of pixels, decoded in stripes; an image whose rows alone need more is a fault.
/// Thread-safe.
struct DecodeResult {
  bool was_decoded = false;  ///< false: no decoder for this type here; only probe_image's checks apply
  std::string fault;         ///< empty: it decodes
};
[[nodiscard]] DecodeResult decode_and_discard(Bytes bytes, ImageType type);

}  // namespace shale
