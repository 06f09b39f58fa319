#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// An image file's type, by its content. `unknown`: none of these.
enum class ImageType { unknown, jpeg, png, gif, bmp, pnm, tiff, webp, heic, avif };
[[nodiscard]] std::string_view name_of(ImageType type);

/// Why a file cannot be a whole image. The names are the reasons in skipped.csv: they are fixed.
enum class ImageFaultCode {
  none,
  empty,            ///< no bytes
  unknown_type,     ///< not an image of a type in ImageType
  truncated,        ///< ends before its header or its blocks say
  no_pixels,        ///< whole, but there is nothing to see
  damaged,          ///< the header or the blocks contradict themselves
  too_large,        ///< more pixels or memory than is allowed: only where pixels are worked on
  too_small,        ///< smaller than the crop that is asked for
  unsupported,      ///< sound, but of a kind that nothing here decodes
  missing_partner,  ///< whole or not: a file that belongs to it is not there
  missing_row,      ///< whole or not: a list that belongs to it has no row for it
  not_text,         ///< whole or not: a file of text that belongs to it is not UTF-8
  not_array,        ///< whole or not: an .npy file that belongs to it has no array of its field
  damaged_input,    ///< not what was written into the dataset that is read
};
/// "", "empty", "unknown-type", "truncated", "no-pixels", "damaged", "too-large", "too-small",
/// "unsupported", "missing-partner", "missing-row", "not-text", "not-array", "damaged-input".
[[nodiscard]] std::string_view name_of(ImageFaultCode code);
/// Not of its image: the sample lacks something, or is not what was written.
[[nodiscard]] constexpr bool is_of_sample(ImageFaultCode code) {
  return code >= ImageFaultCode::missing_partner;
}

struct ImageFault {
  ImageFaultCode code = ImageFaultCode::none;
  std::string text;  ///< "is empty", "is truncated: JPEG without end-of-image marker, 320 bytes"
  [[nodiscard]] bool empty() const { return code == ImageFaultCode::none; }
};

/// What the header of an image says. Nothing is decoded: a few microseconds an image.
struct ImageInfo {
  ImageType type = ImageType::unknown;
  std::uint32_t width = 0, height = 0;  ///< pixels, as stored (before EXIF rotation)
  std::string color;  ///< "gray", "gray-alpha", "rgb", "rgba", "palette", "ycc", "cmyk", "ycck",
                      ///< "bilevel", "lab", "other"
  unsigned bits = 8;  ///< per channel
  unsigned orientation = 1;  ///< EXIF orientation 1..8

  /// What is odd but readable, sorted: "alpha", "cmyk" (CMYK and YCCK), "exif-rotated", "float",
  /// "gray" (bilevel too), "pages" (of a TIFF, or frames of an animation), "palette", "sixteen-bit"
  /// (integers of more than 8 bits a channel, so a 12-bit JPEG too), "trailing-bytes",
  /// "wrong-suffix".
  std::vector<std::string_view> odd;
  ImageFault fault;  ///< empty if nothing shows that the image is not whole

  [[nodiscard]] bool is_odd(std::string_view what) const;
};

}  // namespace shale
