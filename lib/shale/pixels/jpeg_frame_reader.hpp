#pragma once

#include <cstdint>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"
#include "shale/pixels/jpeg_shape.hpp"
#include "shale/pixels/scaled_frame.hpp"

namespace shale {

/// Which way a JPEG goes to its scaled planes.
/// - planes: Y, Cb and Cr (or gray) are scaled as they are stored, each from its own resolution to
///   that of the result: no color conversion, no chroma resampling besides
/// - rows: libjpeg makes gray or RGB rows of full size: CMYK, YCCK, RGB, and pixels that are only
///   decoded (then they are Pillow's)
struct JpegRoute {
  bool in_planes = false;
  unsigned dct_size = 8;                        ///< samples per block side: 8, 4, 2 or 1
  unsigned chroma_across = 1, chroma_down = 1;  ///< pixels per sample of the result's chroma
};
/// `to_jpeg`: the result is a JPEG, else RGB.
[[nodiscard]] JpegRoute jpeg_route(const JpegShape& shape, const ImageGeometry& geometry,
                                   bool to_jpeg);
/// What read_jpeg_frame() takes at most.
[[nodiscard]] std::uint64_t jpeg_frame_bytes(const JpegShape& shape, const ImageGeometry& geometry,
                                             const JpegRoute& route, std::uint32_t padding);

struct JpegFrameResult {
  ScaledFrame frame;
  ImageFault fault;  ///< not empty: there is no frame
};
/// Decodes and scales a JPEG, row by row. `coefficient_limit`: what a progressive JPEG may take.
/// Everything that libjpeg would patch over is a fault. Errors: std::bad_alloc. Thread-safe.
[[nodiscard]] JpegFrameResult read_jpeg_frame(Bytes jpeg, const ImageInfo& info,
                                              const ImageGeometry& geometry, const JpegRoute& route,
                                              SimdLevel level, std::uint32_t padding,
                                              std::uint64_t coefficient_limit);

}  // namespace shale
