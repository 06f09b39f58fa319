//  BMP (little-endian) "BM", +2 u32 file size (often wrong), +10 u32 offset of the pixels,
//                      +14 u32 size of the header that begins here
//  12 bytes (OS/2)     +18 u16 width, +20 u16 height, +24 u16 bits a pixel
//  16 and more         +18 i32 width, +22 i32 height (negative: top row first), +28 u16 pixel bits
//  40 and more         +30 u32 compression, +34 u32 bytes of pixels, +46 u32 colors
//  56 and more         +66 u32 alpha mask
//  color table         entries B G R (OS/2) or B G R 0
//  pixels              rows of whole 32-bit words; for RLE8 and RLE4 pairs (count, value), or
//                      00 00 end of row, 00 01 end of image, 00 02 dx dy, 00 n: n pixels as they
//                      are, padded to an even number of bytes
//  Source: Microsoft, "Bitmap Storage" and [MS-WMF] 2.2.2; OS/2: as Pillow's BmpImagePlugin.

#include <algorithm>

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"

namespace shale {
namespace {

// A table that is the ramp from black to white makes a gray image, as in Pillow.
bool has_gray_table(const HeaderView& view, const BmpHeader& bmp) {
  const std::uint64_t entry_bytes = bmp.header_bytes == 12 ? 3 : 4;
  const std::uint64_t all = std::uint64_t{1} << bmp.pixel_bits;
  const std::uint64_t count = bmp.colors == 0 ? all : std::min<std::uint64_t>(bmp.colors, all);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = kBmpFileHeader + bmp.header_bytes + i * entry_bytes;
    const std::uint64_t level = count == 2 ? i * 255 : i;
    if (!view.has(at, 3) || view.u8(at) != level || view.u8(at + 1) != level ||
        view.u8(at + 2) != level) {
      return false;
    }
  }
  return true;
}

const char* color_name(const HeaderView& view, const BmpHeader& bmp) {
  if (bmp.pixel_bits > 8) {
    const bool has_mask = bmp.header_bytes >= 56 && bmp.header_bytes != 64 && view.u32(66) != 0;
    return has_mask && bmp.compression != kBmpPlain ? "rgba" : "rgb";
  }
  if (!has_gray_table(view, bmp)) return "palette";
  return bmp.pixel_bits == 1 ? "bilevel" : "gray";
}

// Where run-length coded pixels end; beyond the view's end if they are truncated. The end-of-image
// escape may be missing once every pixel has been there.
std::uint64_t end_of_runs(const HeaderView& view, const BmpHeader& bmp) {
  const std::uint64_t pixel_count = capped_product(bmp.width, bmp.height);
  std::uint64_t pixels = 0, at = bmp.pixels_begin;
  while (view.has(at, 2)) {
    const std::uint64_t count = view.u8(at), value = view.u8(at + 1);
    at += 2;
    if (count != 0) {
      pixels += count;
    } else if (value == 1) {
      return at;
    } else if (value == 2) {
      at += 2;
    } else if (value > 2) {
      pixels += value;
      const std::uint64_t run_bytes = bmp.compression == kBmpRle8 ? value : (value + 1) / 2;
      at += run_bytes + run_bytes % 2;
    }
  }
  return pixels >= pixel_count ? std::min(at, view.size()) : std::max(at, view.size()) + 2;
}

std::uint64_t end_of_pixels(const HeaderView& view, const BmpHeader& bmp) {
  const bool is_os2 = bmp.header_bytes == 64;  // 3 and 4 mean other codings there
  switch (bmp.compression) {
    case kBmpRle8:
    case kBmpRle4:
      return end_of_runs(view, bmp);
    case kBmpMasks:
    case kBmpAlphaMasks:
      if (is_os2) break;
      [[fallthrough]];
    case kBmpPlain: {
      const std::uint64_t row_bytes = (bmp.width * bmp.pixel_bits + 31) / 32 * 4;
      return capped_sum(bmp.pixels_begin, capped_product(row_bytes, bmp.height));
    }
    default:
      break;
  }
  return bmp.pixels_begin + bmp.pixel_bytes;
}

}  // namespace

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

HeaderFacts read_bmp_header(Bytes bytes) {
  const HeaderView view(bytes);
  const BmpHeader bmp = read_bmp_fields(view);
  HeaderFacts facts;
  ImageInfo& info = facts.info;
  if (!view.has(kBmpFileHeader, bmp.header_bytes)) {
    info.fault = truncated_file(bytes.size(), kBmpFileHeader + bmp.header_bytes);
    return facts;
  }
  info.width = static_cast<std::uint32_t>(bmp.width);
  info.height = static_cast<std::uint32_t>(bmp.height);
  if (bmp.width == 0 || bmp.height == 0) {
    info.fault = empty_frame(bmp.width, bmp.height);
    return facts;
  }
  constexpr unsigned kDepths[] = {1, 2, 4, 8, 16, 24, 32};
  const bool is_coded =
      bmp.compression == 4 || bmp.compression == 5;  // a JPEG or PNG inside: 0 bits
  if (!is_coded &&
      std::find(std::begin(kDepths), std::end(kDepths), bmp.pixel_bits) == std::end(kDepths)) {
    info.fault = damaged("BMP header: {} bits a pixel", bmp.pixel_bits);
    return facts;
  }
  info.bits = bmp.pixel_bits == 16 ? 5 : is_coded ? 8 : std::min(bmp.pixel_bits, 8U);
  info.color = is_coded ? "rgb" : color_name(view, bmp);

  const std::uint64_t end = end_of_pixels(view, bmp);
  if (end > bytes.size()) {
    info.fault = truncated_file(bytes.size(), end);
  } else {
    // Padding and color profiles may follow the pixels, if the header's file size covers them.
    facts.has_trailing_bytes = bytes.size() > std::max<std::uint64_t>(end, view.u32(2));
  }
  return facts;
}

}  // namespace shale
