#pragma once

#include <cstdint>

#include "shale/image/header_view.hpp"

namespace shale {

enum BmpCompression : std::uint32_t {
  kBmpPlain = 0,
  kBmpRle8 = 1,
  kBmpRle4 = 2,
  kBmpMasks = 3,
  kBmpAlphaMasks = 6
};
inline constexpr std::uint64_t kBmpFileHeader = 14;

/// The fields of a BMP's headers; bmp_probe.cpp has the layout.
struct BmpHeader {
  std::uint64_t header_bytes = 0, pixels_begin = 0;
  std::uint64_t width = 0, height = 0;
  bool is_top_first = false;
  unsigned pixel_bits = 0;
  std::uint32_t compression = kBmpPlain, pixel_bytes = 0, colors = 0;
};
/// What is missing reads as 0. Errors: none.
[[nodiscard]] BmpHeader read_bmp_fields(const HeaderView& view);

}  // namespace shale
