#pragma once

#include <cstdint>
#include <vector>

#include "shale/image/image_metadata.hpp"
#include "shale/pixels/picture.hpp"
#include "shale/pixels/scaler.hpp"

// JPEG and PNG, as work on images stores its results. The same pixels give the same bytes, by the
// same libraries.

namespace shale {

/// How planes are to be taken.
struct JpegFrame {
  std::uint32_t width = 0, height = 0;
  bool is_rgb = false;                          ///< three planes of R, G, B; else Y, or Y, Cb, Cr
  unsigned chroma_across = 2, chroma_down = 2;  ///< 1 or 2: pixels per sample of chroma
  unsigned quality = 90;
};

/// Planes of Y, Cb and Cr are padded to whole blocks of this many samples (Plane's `padding`), and
/// the padding is filled.
inline constexpr std::uint32_t kJpegPadding = 16;

/// Writes planes as a baseline JPEG with libjpeg's standard tables into `into`, which grows to
/// most_jpeg_bytes(). YCbCr planes pass without conversion; RGB planes are converted and subsampled
/// by libjpeg. Returns how many bytes. The same planes give the same bytes, by the same libjpeg.
/// Errors: std::bad_alloc; Code::bug where libjpeg objects.
[[nodiscard]] std::uint64_t write_jpeg(std::vector<Plane>& planes, const JpegFrame& frame,
                                       const ImageMetadata& metadata, std::vector<std::byte>& into);
/// The most bytes that such a JPEG may have.
[[nodiscard]] std::uint64_t most_jpeg_bytes(const JpegFrame& frame, unsigned channels,
                                            std::uint64_t metadata_bytes);
/// What libjpeg takes while it writes.
[[nodiscard]] std::uint64_t jpeg_writer_bytes(const JpegFrame& frame);

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
