//  TIFF: see tiff_directory.cpp for the bytes. Only the first image counts, as for readers of
//  training images; further pages are odd. Tags read: 254 kind of page, 256 width, 257 height, 258
//  bits a sample, 259 compression, 262 photometric, 273 and 279 strip offsets and bytes, 274
//  orientation, 277 samples a pixel, 324 and 325 tile offsets and bytes, 338 extra samples, 339
//  sample format, 513 and 514 an old-style JPEG. Source: Adobe, TIFF 6.0 section 8 and TIFF
//  technical note 2.

#include <algorithm>

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/tiff_directory.hpp"

namespace shale {
namespace {

constexpr unsigned kSampleFormat = 339;
constexpr std::uint64_t kFloat = 3;

enum Photometric : std::uint64_t {
  kWhiteIsZero = 0,
  kBlackIsZero = 1,
  kRgb = 2,
  kPalette = 3,
  kMask = 4,
  kSeparated = 5,
  kYcc = 6,
  kLab = 8,
  kIccLab = 9,
  kItuLab = 10,
};

const char* color_name(const TiffDirectory& directory, std::uint64_t samples, std::uint64_t bits) {
  // An extra sample of kind 0 is just unspecified; without the tag readers take the fourth of RGB
  // for alpha.
  const bool has_extra = directory.number(338, 2) != 0;
  switch (directory.number(262, kBlackIsZero)) {
    case kWhiteIsZero:
    case kBlackIsZero:
      if (samples >= 2 && has_extra) return "gray-alpha";
      return bits == 1 ? "bilevel" : "gray";
    case kRgb:
      return samples >= 4 && has_extra ? "rgba" : "rgb";
    case kPalette:
      return "palette";
    case kMask:
      return "bilevel";
    case kSeparated:
      return "cmyk";
    case kYcc:
      return "ycc";
    case kLab:
    case kIccLab:
    case kItuLab:
      return "lab";
    default:
      return "other";
  }
}

struct Extents {
  bool is_present = false;
  std::uint64_t end = 0;    // of the last byte of pixels or of the tables that locate them
  std::uint64_t bytes = 0;  // of all pixels; 0 if the file does not say
};

// Strips, tiles, or the single run of an old-style JPEG.
Extents pixel_extents(const TiffDirectory& directory, std::uint64_t file_bytes) {
  constexpr unsigned kTags[][2] = {{273, 279}, {324, 325}, {513, 514}};
  for (const auto& [offset_tag, count_tag] : kTags) {
    const auto offsets = directory.find(offset_tag);
    if (!offsets) continue;
    Extents extents{.is_present = true, .end = 0, .bytes = 0};
    extents.end = capped_sum(offsets->offset, capped_product(offsets->count, offsets->width));
    if (extents.end > file_bytes) return extents;
    const auto counts = directory.find(count_tag);
    if (counts) {
      const std::uint64_t table_end =
          capped_sum(counts->offset, capped_product(counts->count, counts->width));
      extents.end = std::max(extents.end, table_end);
      if (table_end > file_bytes) return extents;
    }
    for (std::uint64_t i = 0; i < offsets->count; ++i) {
      const std::uint64_t count = counts && i < counts->count ? directory.value(*counts, i) : 0;
      extents.end = std::max(extents.end, capped_sum(directory.value(*offsets, i), count));
      extents.bytes = capped_sum(extents.bytes, count);
    }
    return extents;
  }
  return {};
}

}  // namespace

HeaderFacts read_tiff_header(Bytes bytes) {
  const TiffDirectory directory(bytes);
  HeaderFacts facts;
  ImageInfo& info = facts.info;
  if (directory.end() > bytes.size()) {
    info.fault = truncated_file(bytes.size(), directory.end());
    return facts;
  }
  const std::uint64_t width = directory.number(256, 0), height = directory.number(257, 0);
  const std::uint64_t bits = directory.number(258, 1), samples = directory.number(277, 1);
  if (width == 0 || height == 0) {
    info.fault = empty_frame(width, height);
    return facts;
  }
  if (width > 0xFFFFFFFF || height > 0xFFFFFFFF || bits == 0 || bits > 64 || samples == 0) {
    info.fault =
        damaged("TIFF header: {} x {} pixels, {} samples of {} bits", width, height, samples, bits);
    return facts;
  }
  info.width = static_cast<std::uint32_t>(width);
  info.height = static_cast<std::uint32_t>(height);
  info.bits = static_cast<unsigned>(bits);
  info.color = color_name(directory, samples, bits);
  facts.is_float = directory.number(kSampleFormat, 1) == kFloat;
  facts.has_more_pages = directory.has_more_pages();
  const std::uint64_t orientation = directory.number(274, 1);
  if (orientation >= 1 && orientation <= 8) info.orientation = static_cast<unsigned>(orientation);

  const Extents extents = pixel_extents(directory, bytes.size());
  const bool is_plain = directory.number(259, 1) == 1 && info.color != "ycc";
  const std::uint64_t plain_bytes =
      capped_product(capped_product(width, height), bits * samples) / 8;
  if (!extents.is_present) {
    info.fault = no_pixels("TIFF of {} bytes without strips or tiles", bytes.size());
  } else if (extents.end > bytes.size()) {
    info.fault = truncated_file(bytes.size(), extents.end);
  } else if (is_plain && extents.bytes != 0 && extents.bytes < plain_bytes) {
    info.fault =
        truncated("{} bytes of pixels, its TIFF header says {}", extents.bytes, plain_bytes);
  }
  return facts;
}

}  // namespace shale
