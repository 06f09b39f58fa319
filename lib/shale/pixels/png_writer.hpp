#pragma once

#include <cstdint>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/image/image_metadata.hpp"
#include "shale/pixels/picture.hpp"
#include "shale/pixels/scaler.hpp"

namespace shale {

/// Writes planes (one: gray, three: RGB) as a PNG of 8 bits into `into`, which has room for
/// most_png_bytes(). Returns how many bytes. The same planes give the same bytes, by the same
/// libpng and zlib. Errors: std::bad_alloc; Code::bug if there is not enough room.
[[nodiscard]] std::uint64_t write_png(const std::vector<Plane>& planes,
                                      const ImageMetadata& metadata, std::vector<std::byte>& into);
/// The same of a picture with its palette, bits and transparency.
[[nodiscard]] std::uint64_t write_png(const Picture& picture, const ImageMetadata& metadata,
                                      std::vector<std::byte>& into);
/// The most bytes that a PNG of such rows may have.
[[nodiscard]] std::uint64_t most_png_bytes(std::uint64_t row_bytes, std::uint64_t rows,
                                           std::uint64_t metadata_bytes);
/// What libpng and zlib take while they write.
inline constexpr std::uint64_t kPngWriterBytes = std::uint64_t{512} << 10;

}  // namespace shale
