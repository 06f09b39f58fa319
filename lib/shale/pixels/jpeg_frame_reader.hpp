#pragma once

#include <array>
#include <cstdint>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"
#include "shale/pixels/scaled_frame.hpp"

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
  ImageFault fault;                                       ///< not empty: libjpeg does not decode it

  /// What libjpeg takes: a few rows, tables, and the coefficients if there are many scans.
  [[nodiscard]] std::uint64_t decoder_bytes() const;
};
/// Has libjpeg read the header. Errors: std::bad_alloc. Thread-safe.
[[nodiscard]] JpegShape read_jpeg_shape(Bytes jpeg);

/// `to_jpeg`: the result is a JPEG, else RGB. `to_gray`: only the Y of it is wanted.
[[nodiscard]] JpegRoute jpeg_route(const JpegShape& shape, const ImageGeometry& geometry,
                                   bool to_jpeg, bool to_gray);
/// What read_jpeg_frame() takes at most.
[[nodiscard]] std::uint64_t jpeg_frame_bytes(const JpegShape& shape, const ImageGeometry& geometry,
                                             const JpegRoute& route, std::uint32_t padding);

struct FrameOrFault {
  ScaledFrame frame;
  ImageFault fault;  ///< not empty: there is no frame
};
/// Decodes and scales a JPEG, row by row. `coefficient_limit`: what a progressive JPEG may take.
/// Everything that libjpeg would patch over is a fault. Errors: std::bad_alloc. Thread-safe.
[[nodiscard]] FrameOrFault read_jpeg_frame(Bytes jpeg, const ImageInfo& info,
                                           const ImageGeometry& geometry, const JpegRoute& route,
                                           SimdLevel level, std::uint32_t padding,
                                           std::uint64_t coefficient_limit);

}  // namespace shale
