#pragma once

#include <cstdint>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"
#include "shale/pixels/view_scaler.hpp"

namespace shale {

/// A part of a JPEG as libjpeg hands it out at one of its scales.
struct JpegPart {
  unsigned dct_size = 8;            ///< samples per side of a block: 8, 4, 2 or 1
  std::uint32_t left = 0, top = 0;  ///< the first column and row that are wanted, in samples
  // How many: those that the filter needs.
};

/// Decodes the part, and as little besides as the same bytes can be had with, and filters it into
/// the target. `coefficient_limit`: what a progressive JPEG may take. Damage in what is decoded is
/// a fault. Errors: std::bad_alloc. Thread-safe.
[[nodiscard]] ImageFault read_jpeg_part(Bytes jpeg, const ImageInfo& info, const JpegPart& part,
                                        const ViewFilter& filter, const ViewTarget& target,
                                        SimdLevel level, std::uint64_t coefficient_limit);

}  // namespace shale
