//  JPEG (big-endian)   FFD8 SOI, then segments; after an SOS entropy-coded data; FFD9 EOI
//  segment             FF (repeated as fill), marker code, u16 length (itself included), payload
//  SOFn                u16 length, u8 precision, u16 height, u16 width, u8 components, ...
//  In entropy-coded data FF is followed by 00 or by an RST, so an EOI cannot occur in it.
//  Source: ITU-T T.81 annex B; EXIF in APP1: CIPA DC-008 section 4.5.

#include <algorithm>

#include <fmt/format.h>

#include "shale/image/codecs.hpp"
#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"
#include "shale/image/jpeg_segments.hpp"

namespace shale {
namespace {

constexpr std::uint8_t kApp1 = 0xE1;

bool is_frame_header(std::uint8_t code) {
  return code >= 0xC0 && code <= 0xCF && code != 0xC4 && code != 0xC8 && code != 0xCC;
}

// What the segments before the first scan say.
struct Walk {
  std::uint64_t scan_begin = 0;  // the first byte of entropy-coded data, 0 if there is none
  bool has_frame = false;
  unsigned bits = 8, components = 0;
  std::uint32_t width = 0, height = 0;
  Bytes exif;
  ImageFault fault;
};

void note_frame(Walk& walk, const HeaderView& view, std::uint64_t segment) {
  walk.has_frame = true;
  walk.bits = view.u8(segment + 2);
  walk.height = view.u16(segment + 3);
  walk.width = view.u16(segment + 5);
  walk.components = view.u8(segment + 7);
}

Walk walk_to_scan(Bytes bytes) {
  const HeaderView view(bytes, std::endian::big);
  JpegSegments segments(bytes);
  Walk walk;
  while (const auto segment = segments.next()) {
    if (segment->code == kEoi) {
      walk.fault = no_pixels("JPEG ends at byte {} before any scan", segment->end);
      return walk;
    }
    if (is_frame_header(segment->code) && !walk.has_frame)
      note_frame(walk, view, segment->payload - 2);
    if (segment->code == kApp1 && walk.exif.empty() && view.holds(segment->payload, {"Exif\0", 5}))
      walk.exif = view.run(segment->payload, segment->end - segment->payload);
    if (segment->code == kSos) {
      walk.scan_begin = segment->end;
      return walk;
    }
  }
  const std::uint64_t at = segments.at(), length_at = at + 2;
  const std::uint64_t length = view.u16(length_at);
  if (at == view.size()) {
    walk.fault = truncated("JPEG header of {} bytes without start of scan", view.size());
  } else if (view.has(length_at, 2) && length < 2) {
    walk.fault = damaged("JPEG header: segment of {} bytes at byte {}", length, at);
  } else {
    walk.fault = truncated("{} bytes, its JPEG segment at byte {} says {} or more", view.size(), at,
                           length_at + std::max<std::uint64_t>(length, 2));
  }
  return walk;
}

}  // namespace

HeaderFacts read_jpeg_header(Bytes bytes) {
  Walk walk = walk_to_scan(bytes);
  HeaderFacts facts;
  ImageInfo& info = facts.info;
  info.width = walk.width;
  info.height = walk.height;
  if (walk.has_frame) {
    info.bits = walk.bits;
    info.color = walk.components == 1 ? "gray" : walk.components == 4 ? "cmyk" : "ycc";
  }
  if (!walk.exif.empty()) info.orientation = exif_orientation(walk.exif);
  info.fault = std::move(walk.fault);
  if (!info.fault.empty()) return facts;
  if (!walk.has_frame) {
    info.fault = damaged("JPEG header: scan at byte {} before any frame", walk.scan_begin);
    return facts;
  }
  if (walk.width == 0 || walk.height == 0) {
    info.fault = empty_frame(walk.width, walk.height);
    return facts;
  }

  JpegTables tables = parse_jpeg_tables(bytes.first(walk.scan_begin));
  if (!tables.objection.empty()) {
    info.fault = damaged("JPEG header: {}", tables.objection);
    return facts;
  }
  if (tables.is_supported) {
    info.width = tables.width;
    info.height = tables.height;
    if (!tables.color.empty()) info.color = std::move(tables.color);
  }

  // The marker cannot occur in entropy-coded data, so the last one after the first scan begins is
  // the image's own, or that of an image appended to it.
  const std::size_t eoi = as_text(bytes.subspan(walk.scan_begin)).rfind("\xFF\xD9");
  if (eoi == std::string_view::npos) {
    info.fault = truncated("JPEG without end-of-image marker, {} bytes", bytes.size());
  } else {
    facts.has_trailing_bytes = walk.scan_begin + eoi + 2 != bytes.size();
  }
  return facts;
}

}  // namespace shale
