#include "shale/image/bmp_header.hpp"

#include <algorithm>

namespace shale {

BmpHeader read_bmp_fields(const HeaderView& view) {
  BmpHeader bmp;
  bmp.header_bytes = view.u32(kBmpFileHeader);
  bmp.pixels_begin = std::max<std::uint64_t>(view.u32(10), kBmpFileHeader + bmp.header_bytes);
  if (bmp.header_bytes == 12) {
    bmp.width = view.u16(18);
    bmp.height = view.u16(20);
    bmp.pixel_bits = view.u16(24);
    return bmp;
  }
  // A negative width is nonsense and reads as no pixels at all.
  const std::uint32_t width = view.u32(18), height = view.u32(22);
  bmp.width = width > 0x7FFFFFFFU ? 0 : width;
  bmp.height = height > 0x7FFFFFFFU ? 0U - height : height;
  bmp.is_top_first = height > 0x7FFFFFFFU;
  bmp.pixel_bits = view.u16(28);
  if (bmp.header_bytes >= 40) {
    bmp.compression = view.u32(30);
    bmp.pixel_bytes = view.u32(34);
    bmp.colors = view.u32(46);
  }
  return bmp;
}

}  // namespace shale
