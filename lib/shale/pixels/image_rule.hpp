#pragma once

#include <cstdint>

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
  raw,  ///< the pixels themselves: (height, width, channels) u8
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

  /// True: every image passes untouched.
  [[nodiscard]] bool changes_nothing() const {
    return resize == Resize::none && crop_width == 0 && encode == EncodeAs::keep &&
           !apply_rotation && !strip_metadata;
  }
  friend bool operator==(const ImageRule&, const ImageRule&) = default;
};

/// The largest side that a rule may ask for.
inline constexpr std::uint32_t kLargestSide = 65535;

/// Errors: Code::usage for a rule that no image could follow: a side of 0 or above kLargestSide,
/// one side of a crop without the other, a quality outside of 1..100, a mask as JPEG.
void check_rule(const ImageRule& rule);

}  // namespace shale
