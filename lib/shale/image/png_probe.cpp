//  PNG (big-endian)    8 bytes signature, then chunks
//  chunk               u32 length, 4 letters type, `length` bytes, u32 CRC
//  IHDR                first, 13 bytes: u32 width, u32 height, u8 bit depth, u8 color type,
//                      u8 compression, u8 filter, u8 interlace
//  acTL                of an animation: u32 frames
//  tRNS, eXIf          transparency; an EXIF block without the "Exif\0\0"
//  IEND                last, 0 bytes
//  Source: W3C PNG specification, third edition. CRCs are left to decode_and_discard().

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kSignature = 8, kChunkFrame = 12, kHeaderChunk = 13;

const char* color_name(unsigned color_type, unsigned bits) {
  switch (color_type) {
    case 0:
      return bits == 1 ? "bilevel" : "gray";
    case 2:
      return "rgb";
    case 3:
      return "palette";
    case 4:
      return "gray-alpha";
    case 6:
      return "rgba";
    default:
      return "";
  }
}

bool is_depth_of(unsigned color_type, unsigned bits) {
  const bool is_packed = bits == 1 || bits == 2 || bits == 4;
  switch (color_type) {
    case 0:
      return is_packed || bits == 8 || bits == 16;
    case 3:
      return is_packed || bits == 8;
    case 2:
    case 4:
    case 6:
      return bits == 8 || bits == 16;
    default:
      return false;
  }
}

// Reads IHDR; says in info.fault what is wrong with it.
ImageInfo read_ihdr(const HeaderView& view) {
  ImageInfo info;
  if (!view.has(kSignature, kChunkFrame + kHeaderChunk)) {
    info.fault = truncated_file(view.size(), kSignature + kChunkFrame + kHeaderChunk);
    return info;
  }
  if (view.u32(kSignature) != kHeaderChunk || !view.holds(kSignature + 4, "IHDR")) {
    info.fault = damaged("PNG header: its first chunk is not an IHDR of 13 bytes");
    return info;
  }
  const std::uint64_t at = kSignature + 8;
  info.width = view.u32(at);
  info.height = view.u32(at + 4);
  info.bits = view.u8(at + 8);
  const unsigned color_type = view.u8(at + 9);
  info.color = color_name(color_type, info.bits);
  if (info.width == 0 || info.height == 0) {
    info.fault = empty_frame(info.width, info.height);
  } else if (!is_depth_of(color_type, info.bits)) {
    info.fault = damaged("PNG header: color type {} with {} bits", color_type, info.bits);
  }
  return info;
}

}  // namespace

HeaderFacts read_png_header(Bytes bytes) {
  const HeaderView view(bytes, std::endian::big);
  HeaderFacts facts;
  facts.info = read_ihdr(view);
  if (!facts.info.fault.empty()) return facts;

  bool has_pixels = false;
  std::uint64_t at = kSignature;
  while (view.has(at, kChunkFrame)) {
    const std::uint64_t length = view.u32(at);
    if (!view.has(at, kChunkFrame + length)) {
      facts.info.fault = truncated("{} bytes, its PNG chunk at byte {} says {} or more",
                                   bytes.size(), at, at + kChunkFrame + length);
      return facts;
    }
    if (view.holds(at + 4, "IDAT")) has_pixels = true;
    if (view.holds(at + 4, "acTL")) facts.has_more_pages = view.u32(at + 8) > 1;
    if (view.holds(at + 4, "tRNS")) facts.has_alpha = true;
    if (view.holds(at + 4, "eXIf"))
      facts.info.orientation = exif_orientation(view.run(at + 8, length));
    const bool is_end = view.holds(at + 4, "IEND");
    at += kChunkFrame + length;
    if (!is_end) continue;
    facts.has_trailing_bytes = at != bytes.size();
    if (!has_pixels) facts.info.fault = no_pixels("PNG of {} bytes without IDAT chunk", at);
    return facts;
  }
  facts.info.fault = truncated("PNG of {} bytes without IEND chunk", bytes.size());
  return facts;
}

}  // namespace shale
