#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "shale/base/bytes.hpp"

namespace shale {

/// How a JPEG is built: what decides how much memory it takes to decode, and which way it goes.
struct JpegShape {
  struct Component {
    unsigned across = 1, down = 1;  ///< sampling factors
  };
  std::uint32_t width = 0, height = 0;
  unsigned channels = 0;  ///< 1, 3 or 4
  std::array<Component, 4> components{};
  unsigned most_across = 1, most_down = 1;
  bool is_gray = false, is_ycc = false, is_cmyk = false;  ///< CMYK or YCCK; none: RGB
  bool has_many_scans = false;                            ///< all coefficients are held in memory
  std::string objection;                                  ///< not empty: libjpeg does not decode it
  bool is_supported = true;  ///< false: the objection is only that nothing here decodes it

  /// What libjpeg takes: a few rows, tables, and the coefficients if there are many scans.
  [[nodiscard]] std::uint64_t decoder_bytes() const;
};
/// Has libjpeg read the header. Errors: std::bad_alloc. Thread-safe.
[[nodiscard]] JpegShape read_jpeg_shape(Bytes jpeg);

}  // namespace shale
