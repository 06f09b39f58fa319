#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// An image file's type, by its content. `unknown`: none of these.
enum class ImageType { unknown, jpeg, png, gif, bmp, pnm, tiff, webp };
[[nodiscard]] std::string_view name_of(ImageType type);

/// What the header of an image says. Nothing is decoded: a few microseconds an image.
struct ImageInfo {
  ImageType type = ImageType::unknown;
  std::uint32_t width = 0, height = 0;  ///< pixels, as stored (before EXIF rotation)
  std::string color;  ///< "gray", "gray-alpha", "rgb", "rgba", "palette", "ycc", "cmyk", "ycck",
                      ///< "bilevel", "lab", "other"
  unsigned bits = 8;  ///< per channel
  unsigned orientation = 1;  ///< EXIF orientation 1..8

  /// What is odd but readable, sorted: "alpha", "cmyk" (CMYK and YCCK), "exif-rotated", "gray"
  /// (bilevel too), "palette", "sixteen-bit" (more than 8 bits a channel, so a 12-bit JPEG too),
  /// "trailing-bytes", "wrong-suffix".
  std::vector<std::string_view> odd;
  /// Why the bytes cannot be a whole image, empty if nothing speaks against it: "is empty", "is not
  /// an image of a known type", "is cut: JPEG without end-of-image marker", "is cut: ... N bytes,
  /// its header says M" ...
  std::string fault;
};

}  // namespace shale
