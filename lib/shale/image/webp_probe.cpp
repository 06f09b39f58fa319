//  WebP (little-endian)  "RIFF", +4 u32 bytes after this field, +8 "WEBP", +12 chunks
//  chunk                 4 letters, u32 length, `length` bytes, padded to an even length
//  "VP8 "                lossy: u24 frame tag, 9D 01 2A, u16 width, u16 height (14 bits each)
//  "VP8L"                lossless: 2F, u32: 14 bits width - 1, 14 bits height - 1, 1 bit alpha
//  "VP8X"                extended: u8 flags (0x10 alpha), 3 bytes, u24 width - 1, u24 height - 1;
//                        then image chunks ("VP8 ", "VP8L", "ANMF") and perhaps "EXIF"
//  Source: RFC 9649.

#include <algorithm>

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kRiffHeader = 12, kChunkHeader = 8;

void read_lossy(HeaderFacts& facts, const HeaderView& view, std::uint64_t at) {
  ImageInfo& info = facts.info;
  if (!view.holds(at + 3, "\x9D\x01\x2A")) {
    info.fault = damaged("WebP without VP8 start code at byte {}", at + 3);
    return;
  }
  info.color = "ycc";
  info.width = view.u16(at + 6) & 0x3FFFU;
  info.height = view.u16(at + 8) & 0x3FFFU;
}

void read_lossless(HeaderFacts& facts, const HeaderView& view, std::uint64_t at) {
  ImageInfo& info = facts.info;
  if (view.u8(at) != 0x2F || !view.has(at, 5)) {
    info.fault = damaged("WebP without VP8L signature at byte {}", at);
    return;
  }
  const std::uint32_t packed = view.u32(at + 1);
  info.width = (packed & 0x3FFFU) + 1;
  info.height = (packed >> 14 & 0x3FFFU) + 1;
  info.color = (packed >> 28 & 1U) != 0 ? "rgba" : "rgb";
}

// The extended header is followed by chunks: the pixels, perhaps EXIF.
void read_extended(HeaderFacts& facts, const HeaderView& view, std::uint64_t end) {
  ImageInfo& info = facts.info;
  facts.has_alpha = (view.u8(kRiffHeader + kChunkHeader) & 0x10U) != 0;
  info.width = view.u24(kRiffHeader + kChunkHeader + 4) + 1;
  info.height = view.u24(kRiffHeader + kChunkHeader + 7) + 1;
  unsigned frames = 0;
  for (std::uint64_t at = kRiffHeader; at + kChunkHeader <= end;) {
    const std::uint64_t length = view.u32(at + 4), payload = at + kChunkHeader;
    if (length > end - payload) {
      info.fault = truncated("{} bytes, its WebP chunk at byte {} says {} or more", end, at,
                             payload + length);
      return;
    }
    if (view.holds(at, "VP8 ") || view.holds(at, "ANMF")) info.color = "ycc";
    if (view.holds(at, "VP8L")) info.color = facts.has_alpha ? "rgba" : "rgb";
    if (view.holds(at, "ANMF")) facts.has_more_pages = ++frames > 1;
    if (view.holds(at, "EXIF")) info.orientation = exif_orientation(view.run(payload, length));
    at = payload + length + length % 2;
  }
  if (info.color.empty()) info.fault = no_pixels("WebP of {} bytes without an image chunk", end);
}

}  // namespace

HeaderFacts read_webp_header(Bytes bytes) {
  const HeaderView view(bytes);
  HeaderFacts facts;
  ImageInfo& info = facts.info;
  const std::uint64_t end = std::uint64_t{view.u32(4)} + 8, first = kRiffHeader + kChunkHeader;
  if (end > bytes.size()) info.fault = truncated_file(bytes.size(), end);
  const bool is_lossy = view.holds(kRiffHeader, "VP8 ");
  const bool is_lossless = view.holds(kRiffHeader, "VP8L");
  if (is_lossy || is_lossless) {
    const std::uint64_t image_end = first + view.u32(kRiffHeader + 4);
    if (info.fault.empty() && image_end > end) {
      info.fault = truncated("{} bytes, its WebP image chunk says {}", end, image_end);
    }
    if (info.fault.empty())
      is_lossy ? read_lossy(facts, view, first) : read_lossless(facts, view, first);
  } else if (view.holds(kRiffHeader, "VP8X")) {
    if (info.fault.empty()) read_extended(facts, view, end);
  } else if (info.fault.empty()) {
    info.fault = damaged("WebP header: its first chunk is not VP8, VP8L or VP8X");
  }
  if (info.fault.empty() && (info.width == 0 || info.height == 0)) {
    info.fault = empty_frame(info.width, info.height);
  }
  facts.has_trailing_bytes = end < bytes.size();
  return facts;
}

}  // namespace shale
