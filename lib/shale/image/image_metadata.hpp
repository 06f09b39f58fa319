#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"

namespace shale {

/// What of a file's metadata decides how its pixels are shown, or is carried along with them.
struct ImageMetadata {
  std::vector<std::byte> exif;  ///< a TIFF structure, without the "Exif\0\0" of JPEG
  std::vector<std::byte> icc;   ///< a color profile
  [[nodiscard]] std::uint64_t size() const { return exif.size() + icc.size(); }
};

/// EXIF and ICC profile of a file of any type; what is damaged or larger than 4 MiB is left out (of
/// a TIFF only the orientation is read). Errors: std::bad_alloc. Thread-safe.
[[nodiscard]] ImageMetadata read_metadata(Bytes image, ImageType type);
/// An EXIF block that says nothing but the orientation.
[[nodiscard]] std::vector<std::byte> exif_of_orientation(unsigned orientation);
/// Sets the orientation that an EXIF block names to 1, if it names one.
void reset_orientation(std::vector<std::byte>& exif);
/// True if an ICC profile is for images of so many channels (1 or 3), as its header says.
[[nodiscard]] bool is_profile_for(Bytes icc, unsigned channels);

/// True if strip_metadata() would drop or replace anything. Walks the markers or chunks.
[[nodiscard]] bool has_strippable_metadata(Bytes image, const ImageInfo& info);
/// Appends to `into` (from `at` on) a JPEG, PNG, WebP or GIF without metadata; its pixels are not
/// decoded, their bytes stay. What decides how they are shown stays as well: ICC profile, gamma and
/// the like, Adobe's marker, an orientation other than 1 (as an EXIF block that says only that).
/// Bytes behind the end of the image go. Returns the bytes written; `into` grows as needed.
/// Errors: std::bad_alloc.
[[nodiscard]] std::uint64_t strip_metadata(Bytes image, const ImageInfo& info,
                                           std::vector<std::byte>& into);

}  // namespace shale
