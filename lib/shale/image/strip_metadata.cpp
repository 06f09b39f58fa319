//  What goes, by type:
//  JPEG  comments and all APPn but JFIF's APP0, the ICC profile (APP2) and Adobe's APP14; what
//        follows the end of the image
//  PNG   all ancillary chunks but those that decide how pixels are shown
//  WebP  the chunks "EXIF" and "XMP ", and their bits in the flags of VP8X
//  GIF   comments, and application extensions other than those of animations and color profiles
//  An orientation other than 1 stays as an EXIF block that says nothing else.

#include <algorithm>
#include <string_view>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"
#include "shale/image/image_metadata.hpp"
#include "shale/image/jpeg_segments.hpp"

namespace shale {
namespace {

using std::string_view_literals::operator""sv;

// What is kept, and whether that is all.
struct Kept {
  ByteWriter bytes;
  bool dropped = false;
};

bool is_exif_of_orientation(Bytes exif, unsigned orientation) {
  const std::vector<std::byte> wanted = exif_of_orientation(orientation);
  return std::equal(exif.begin(), exif.end(), wanted.begin(), wanted.end());
}

std::string big_endian(std::uint64_t value, std::size_t count) {
  std::string text;
  for (std::size_t i = count; i-- > 0;) text += static_cast<char>(value >> 8 * i);
  return text;
}

bool keeps_segment(const JpegSegments::Segment& segment, Bytes payload) {
  const std::string_view text = as_text(payload);
  const bool is_app = segment.code >= 0xE0 && segment.code <= 0xEF;
  if (segment.code == 0xFE) return false;
  if (!is_app) return true;
  if (segment.code == 0xE0) return text.starts_with("JFIF\0"sv);
  if (segment.code == 0xE2) return text.starts_with("ICC_PROFILE\0"sv);
  return segment.code == 0xEE && text.starts_with("Adobe"sv);
}

Kept strip_jpeg(Bytes image, unsigned orientation) {
  constexpr std::string_view kExif = "Exif\0\0"sv;
  const HeaderView view(image, std::endian::big);
  JpegSegments segments(image);
  Kept kept;
  kept.bytes.write_bytes(view.run(0, 2));
  std::uint64_t done = 2;  // what was looked at
  bool needs_exif = orientation != 1;
  const auto put_exif = [&] {
    const std::vector<std::byte> exif = exif_of_orientation(orientation);
    kept.bytes.write_text("\xFF\xE1" + big_endian(2 + kExif.size() + exif.size(), 2));
    kept.bytes.write_text(kExif);
    kept.bytes.write_bytes(exif);
    needs_exif = false;
  };
  while (const auto segment = segments.next()) {
    const std::uint64_t end = segment->code == kSos ? segments.end_of_scan() : segment->end;
    const Bytes payload = view.run(segment->payload, segment->end - segment->payload);
    const bool is_exif = segment->code == 0xE1 && as_text(payload).starts_with(kExif);
    if (is_exif && needs_exif) {
      put_exif();
      if (!is_exif_of_orientation(payload.subspan(kExif.size()), orientation)) kept.dropped = true;
    } else if (keeps_segment(*segment, payload)) {
      kept.bytes.write_bytes(view.run(segment->begin, end - segment->begin));
    } else {
      kept.dropped = true;
    }
    done = end;
    if (segment->code == kEoi) break;
  }
  if (done != image.size()) kept.dropped = true;
  return kept;
}

bool keeps_chunk(std::string_view name) {
  constexpr std::string_view kShown[] = {"tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP",
                                         "mDCV", "cLLI", "pHYs", "acTL", "fcTL", "fdAT"};
  const bool is_critical = !name.empty() && name[0] >= 'A' && name[0] <= 'Z';
  return is_critical || std::find(std::begin(kShown), std::end(kShown), name) != std::end(kShown);
}

// The CRC of PNG: polynomial 0xEDB88320, bit by bit, for the one chunk that is written here.
std::uint32_t png_crc(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

Kept strip_png(Bytes image, unsigned orientation) {
  const HeaderView view(image, std::endian::big);
  Kept kept;
  kept.bytes.write_bytes(view.run(0, 8));
  std::uint64_t at = 8;
  bool needs_exif = orientation != 1;
  while (view.has(at, 12)) {
    const std::uint64_t length = view.u32(at);
    if (!view.has(at, length + 12)) break;
    const std::string_view name = as_text(view.run(at + 4, 4));
    const bool is_end = name == "IEND";
    if ((name == "eXIf" || name == "IDAT") && needs_exif) {
      const std::vector<std::byte> exif = exif_of_orientation(orientation);
      const std::string body = "eXIf" + std::string(as_text(exif));
      kept.bytes.write_text(big_endian(exif.size(), 4) + body + big_endian(png_crc(body), 4));
      needs_exif = false;
      if (name == "eXIf" && !is_exif_of_orientation(view.run(at + 8, length), orientation)) {
        kept.dropped = true;
      }
    } else if (name == "eXIf") {
      kept.dropped = true;
    }
    if (keeps_chunk(name)) {
      kept.bytes.write_bytes(view.run(at, length + 12));
    } else if (name != "eXIf") {
      kept.dropped = true;
    }
    at += length + 12;
    if (is_end) break;
  }
  if (at != image.size()) kept.dropped = true;
  return kept;
}

Kept strip_webp(Bytes image, unsigned orientation) {
  constexpr std::uint8_t kExifFlag = 0x08, kXmpFlag = 0x04;
  const HeaderView view(image);
  const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{view.u32(4)} + 8, image.size());
  Kept kept;
  ByteWriter chunks;
  for (std::uint64_t at = 12; view.has(at, 8) && at + 8 <= end;) {
    const std::uint64_t length = view.u32(at + 4), whole = 8 + length + length % 2;
    const bool is_exif = view.holds(at, "EXIF");
    if (view.holds(at, "VP8X")) {
      std::string header(as_text(view.run(at, whole)));
      const auto flags = static_cast<std::uint8_t>(header.size() > 8 ? header[8] : 0);
      const unsigned cleared = flags & ~unsigned{kExifFlag} & ~unsigned{kXmpFlag};
      const unsigned wanted = cleared | (orientation != 1 ? kExifFlag : 0U);
      if (header.size() > 8) header[8] = static_cast<char>(wanted);
      kept.dropped = kept.dropped || flags != wanted;
      chunks.write_text(header);
    } else if (is_exif || view.holds(at, "XMP ")) {
      const bool is_minimal = is_exif && orientation != 1 &&
                              is_exif_of_orientation(view.run(at + 8, length), orientation);
      kept.dropped = kept.dropped || !is_minimal;
    } else {
      chunks.write_bytes(view.run(at, whole));
    }
    at += whole;
  }
  if (orientation != 1) {
    const std::vector<std::byte> exif = exif_of_orientation(orientation);
    chunks.write_text("EXIF");
    chunks.write<std::uint32_t>(static_cast<std::uint32_t>(exif.size()));
    chunks.write_bytes(exif);
  }
  kept.dropped = kept.dropped || end != image.size();
  kept.bytes.write_text("RIFF");
  kept.bytes.write<std::uint32_t>(static_cast<std::uint32_t>(chunks.size() + 4));
  kept.bytes.write_text("WEBP");
  kept.bytes.write_bytes(chunks.bytes());
  return kept;
}

Kept strip_gif(Bytes image) {
  constexpr std::string_view kShown[] = {"NETSCAPE2.0", "ANIMEXTS1.0", "ICCRGBG1012"};
  const HeaderView view(image);
  const auto end_of_blocks = [&view](std::uint64_t at) {
    return std::min(end_of_gif_blocks(view, at), view.size());
  };
  Kept kept;
  std::uint64_t at = 13 + gif_table_bytes(view.u8(10));
  kept.bytes.write_bytes(view.run(0, at));
  while (at < view.size()) {
    const std::uint64_t begin = at;
    const std::uint8_t kind = view.u8(at);
    bool is_kept = true;
    if (kind == 0x21) {
      const std::uint8_t label = view.u8(at + 1);
      const std::string_view name = as_text(view.run(at + 3, 11));
      at = end_of_blocks(at + 2);
      is_kept = label != 0xFE && (label != 0xFF || std::find(std::begin(kShown), std::end(kShown),
                                                             name) != std::end(kShown));
    } else if (kind == 0x2C) {
      at = end_of_blocks(at + 11 + gif_table_bytes(view.u8(at + 9)));
    } else {
      ++at;
    }
    if (is_kept) {
      kept.bytes.write_bytes(view.run(begin, at - begin));
    } else {
      kept.dropped = true;
    }
    if (kind == 0x3B) break;
  }
  kept.dropped = kept.dropped || at != view.size();
  return kept;
}

Kept strip(Bytes image, const ImageInfo& info) {
  switch (info.type) {
    case ImageType::jpeg:
      return strip_jpeg(image, info.orientation);
    case ImageType::png:
      return strip_png(image, info.orientation);
    case ImageType::webp:
      return strip_webp(image, info.orientation);
    case ImageType::gif:
      return strip_gif(image);
    default:
      return {};
  }
}

}  // namespace

bool has_strippable_metadata(Bytes image, const ImageInfo& info) {
  return strip(image, info).dropped;
}

std::uint64_t strip_metadata(Bytes image, const ImageInfo& info, std::vector<std::byte>& into) {
  const Kept kept = strip(image, info);
  if (into.size() < kept.bytes.size()) into.resize(kept.bytes.size());
  std::copy(kept.bytes.bytes().begin(), kept.bytes.bytes().end(), into.begin());
  return kept.bytes.size();
}

}  // namespace shale
