#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "shale/base/bytes.hpp"
#include "shale/image/probe.hpp"

namespace shale {

/// What libjpeg-turbo says of a JPEG's header.
struct JpegTables {
  bool is_supported = true;  ///< false: perhaps sound, but not for this decoder (12 bits ...)
  std::uint32_t width = 0, height = 0;
  std::string color;      ///< as in ImageInfo; empty where libjpeg knows no name for it
  std::string objection;  ///< empty: none
};
/// Has libjpeg-turbo parse the segments up to and including the first SOS, which `header` ends
/// with. Half a microsecond for a photo (200 of ImageNet in RAM, AMD EPYC). Errors: none
/// but std::bad_alloc. Thread-safe.
[[nodiscard]] JpegTables parse_jpeg_tables(Bytes header);

/// The two decoders behind decode_and_discard().
[[nodiscard]] DecodeResult discard_jpeg(Bytes bytes, std::uint64_t limit_bytes);
[[nodiscard]] DecodeResult discard_png(Bytes bytes, std::uint64_t limit_bytes);

/// Pixels of C M Y K, inverted as Adobe stores them, become pixels of R G B at the row's beginning,
/// as Pillow converts them.
void pack_cmyk_as_rgb(std::uint8_t* row, std::size_t width);

/// The libraries that decode and encode, with their versions: "libjpeg-turbo 2.1.5, libpng ...".
[[nodiscard]] std::string codec_libraries();

}  // namespace shale
