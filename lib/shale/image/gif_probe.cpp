//  GIF (little-endian) "GIF87a" or "GIF89a", +6 u16 width, +8 u16 height, +10 u8 flags,
//                      +11 u8 background, +12 u8 aspect, +13 color table, then blocks
//  color table         only if flags & 0x80: 3 << ((flags & 7) + 1) bytes
//  block 21            u8 label, sub-blocks; label F9: the first sub-block's bit 0 is transparency
//  block 2C            one frame: u16 left, top, width, height, u8 flags, color table,
//                      u8 LZW code size, sub-blocks
//  block 3B            trailer
//  sub-blocks          u8 length, `length` bytes, repeated; length 0 ends them
//  Source: W3C, GIF89a specification.

#include <algorithm>

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kScreenEnd = 13, kFrameHeader = 10;

}  // namespace

std::uint64_t gif_table_bytes(std::uint8_t flags) {
  return (flags & 0x80U) != 0 ? std::uint64_t{3} << ((flags & 7U) + 1) : 0;
}

std::uint64_t end_of_gif_blocks(const HeaderView& view, std::uint64_t at) {
  while (at < view.size()) {
    const std::uint64_t length = view.u8(at);
    at += 1 + length;
    if (length == 0) return at;
  }
  return std::max(at, view.size() + 1);
}

HeaderFacts read_gif_header(Bytes bytes) {
  const HeaderView view(bytes);
  HeaderFacts facts;
  ImageInfo& info = facts.info;
  info.width = view.u16(6);
  info.height = view.u16(8);
  info.color = "palette";
  bool has_frame = false;
  std::uint64_t at = kScreenEnd + gif_table_bytes(view.u8(10));
  while (view.has(at, 1)) {
    const std::uint8_t kind = view.u8(at);
    if (kind == 0x3B) {
      facts.has_trailing_bytes = at + 1 != bytes.size();
      if (!has_frame) info.fault = no_pixels("GIF of {} bytes without a frame", at + 1);
      return facts;
    }
    if (kind == 0x21) {
      const bool is_control = view.u8(at + 1) == 0xF9;
      if (is_control && !has_frame && (view.u8(at + 3) & 1U) != 0) facts.has_alpha = true;
      at = end_of_gif_blocks(view, at + 2);
    } else if (kind == 0x2C) {
      if (!has_frame) {  // a first frame that is larger than the screen widens it, as in Pillow
        info.width = std::max<std::uint32_t>(info.width, view.u16(at + 1) + view.u16(at + 5));
        info.height = std::max<std::uint32_t>(info.height, view.u16(at + 3) + view.u16(at + 7));
      }
      facts.has_more_pages = has_frame;
      has_frame = true;
      at = end_of_gif_blocks(view, at + kFrameHeader + gif_table_bytes(view.u8(at + 9)) + 1);
    } else if (kind == 0) {  // padding that some writers leave between blocks
      ++at;
    } else {
      info.fault = damaged("GIF block of unknown kind 0x{:02x} at byte {}", kind, at);
      return facts;
    }
  }
  info.fault = at > bytes.size()
                   ? truncated("{} bytes, its GIF blocks need {} or more", bytes.size(), at)
                   : truncated("GIF of {} bytes without trailer", bytes.size());
  return facts;
}

}  // namespace shale
