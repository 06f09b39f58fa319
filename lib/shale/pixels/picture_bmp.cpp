//  The layout: bmp_probe.cpp. Read are palettes of 1, 2, 4 and 8 bits, plain or run-length coded,
//  and pixels of 16, 24 and 32 bits, plain or by masks. A fourth byte is alpha only if a mask says
//  so.

#include <algorithm>
#include <bit>

#include "shale/image/header_facts.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

DecodedPicture short_bmp(std::uint64_t found) {
  return {.picture = {}, .fault = truncated("{} bytes, its BMP header needs more", found)};
}

std::uint64_t row_of_file(const BmpHeader& bmp, std::uint64_t y) {
  return bmp.is_top_first ? y : bmp.height - 1 - y;
}

std::vector<std::array<std::uint8_t, 3>> color_table(const HeaderView& view, const BmpHeader& bmp) {
  const std::uint64_t entry = bmp.header_bytes == 12 ? 3 : 4;
  const std::uint64_t all = std::uint64_t{1} << bmp.pixel_bits;
  const std::uint64_t count = bmp.colors == 0 ? all : std::min<std::uint64_t>(bmp.colors, all);
  const std::uint64_t masks =
      bmp.header_bytes == 40 && bmp.compression == kBmpMasks ? std::uint64_t{12} : 0;
  std::vector<std::array<std::uint8_t, 3>> colors;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = kBmpFileHeader + bmp.header_bytes + masks + i * entry;
    if (!view.has(at, 3)) break;
    colors.push_back({view.u8(at + 2), view.u8(at + 1), view.u8(at)});
  }
  return colors;
}

bool read_indexes(const HeaderView& view, const BmpHeader& bmp, Picture& picture) {
  const std::uint64_t row_bytes = (bmp.width * bmp.pixel_bits + 31) / 32 * 4;
  const unsigned bits = bmp.pixel_bits, per_byte = 8 / bits, most = (1U << bits) - 1;
  for (std::uint64_t y = 0; y < bmp.height; ++y) {
    const std::uint64_t at = bmp.pixels_begin + row_of_file(bmp, y) * row_bytes;
    if (!view.has(at, row_bytes)) return false;
    for (std::uint64_t x = 0; x < bmp.width; ++x) {
      const unsigned shift = static_cast<unsigned>(per_byte - 1 - x % per_byte) * bits;
      picture.row(y)[x] = static_cast<std::uint8_t>(view.u8(at + x / per_byte) >> shift & most);
    }
  }
  return true;
}

// Where a run goes: rows from the bottom up, whatever lies outside is dropped.
struct RunPlace {
  std::uint64_t x = 0, y = 0;
};

void put_index(const BmpHeader& bmp, Picture& picture, RunPlace& place, unsigned index) {
  if (place.x < bmp.width && place.y < bmp.height) {
    picture.row(row_of_file(bmp, place.y))[place.x] = static_cast<std::uint8_t>(index);
  }
  ++place.x;
}

// Pixels that no run mentions stay 0.
bool read_runs(const HeaderView& view, const BmpHeader& bmp, Picture& picture) {
  const bool is_rle4 = bmp.compression == kBmpRle4;
  const auto index_of = [&](unsigned byte, std::uint64_t i) {
    return is_rle4 ? (i % 2 == 0 ? byte >> 4 : byte & 15U) : byte;
  };
  RunPlace place;
  std::uint64_t at = bmp.pixels_begin;
  while (view.has(at, 2)) {
    const unsigned count = view.u8(at), value = view.u8(at + 1);
    at += 2;
    if (count != 0) {
      for (unsigned i = 0; i < count; ++i) put_index(bmp, picture, place, index_of(value, i));
    } else if (value == 0) {
      place = {0, place.y + 1};
    } else if (value == 1) {
      return true;
    } else if (value == 2) {
      place = {place.x + view.u8(at), place.y + view.u8(at + 1)};
      at += 2;
    } else {
      const std::uint64_t run_bytes = is_rle4 ? (value + 1) / 2 : value;
      if (!view.has(at, run_bytes)) return false;
      for (unsigned i = 0; i < value; ++i) {
        put_index(bmp, picture, place, index_of(view.u8(at + (is_rle4 ? i / 2 : i)), i));
      }
      at += run_bytes + run_bytes % 2;
    }
    if (place.y >= bmp.height) return true;
  }
  return place.y + 1 >= bmp.height && place.x >= bmp.width;
}

struct ColorMask {
  std::uint32_t mask = 0;
  [[nodiscard]] std::uint8_t level_of(std::uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const std::uint64_t top = mask >> shift, level = (pixel & mask) >> shift;
    return static_cast<std::uint8_t>((level * 255 + top / 2) / top);
  }
};

std::array<ColorMask, 4> masks_of(const HeaderView& view, const BmpHeader& bmp) {
  std::array<ColorMask, 4> masks;
  if (bmp.compression == kBmpMasks || bmp.compression == kBmpAlphaMasks) {
    for (std::uint64_t i = 0; i < 3; ++i) masks[i].mask = view.u32(kBmpFileHeader + 40 + 4 * i);
    if (bmp.header_bytes >= 56 || bmp.compression == kBmpAlphaMasks) {
      masks[3].mask = view.u32(kBmpFileHeader + 52);
    }
  } else if (bmp.pixel_bits == 16) {
    masks = {ColorMask{0x7C00}, ColorMask{0x03E0}, ColorMask{0x001F}, ColorMask{0}};
  } else {
    masks = {ColorMask{0xFF0000}, ColorMask{0x00FF00}, ColorMask{0x0000FF}, ColorMask{0}};
  }
  return masks;
}

bool read_colors(const HeaderView& view, const BmpHeader& bmp, Picture& picture) {
  const std::array<ColorMask, 4> masks = masks_of(view, bmp);
  const std::uint64_t pixel_bytes = bmp.pixel_bits / 8;
  const std::uint64_t row_bytes = (bmp.width * bmp.pixel_bits + 31) / 32 * 4;
  for (std::uint64_t y = 0; y < bmp.height; ++y) {
    std::uint64_t at = bmp.pixels_begin + row_of_file(bmp, y) * row_bytes;
    if (!view.has(at, row_bytes)) return false;
    std::uint8_t* into = picture.row(y);
    for (std::uint64_t x = 0; x < bmp.width; ++x, at += pixel_bytes) {
      const std::uint32_t pixel = pixel_bytes == 2   ? view.u16(at)
                                  : pixel_bytes == 3 ? view.u24(at)
                                                     : view.u32(at);
      for (std::size_t c = 0; c < picture.channels; ++c) *into++ = masks[c].level_of(pixel);
    }
  }
  return true;
}

// A color table that is the ramp from black to white (probe_image() found it) is not a palette: the
// samples are levels.
void drop_gray_ramp(Picture& picture, const ImageInfo& info) {
  if (info.color != "gray" && info.color != "bilevel") return;
  picture.has_palette = false;
  picture.palette.clear();
  if (info.color == "gray") return;
  picture.bits = 1;
  picture.top_level = 1;
}

}  // namespace

DecodedPicture decode_bmp(Bytes bytes, const ImageInfo& info) {
  const HeaderView view(bytes);
  const BmpHeader bmp = read_bmp_fields(view);
  const bool is_coded = bmp.compression == kBmpRle8 || bmp.compression == kBmpRle4;
  const bool has_masks = bmp.compression == kBmpMasks || bmp.compression == kBmpAlphaMasks;
  if (bmp.header_bytes == 64 && bmp.compression > kBmpRle4) {
    return {.picture = {}, .fault = unsupported("BMP of OS/2, compression {}", bmp.compression)};
  }
  if (!is_coded && !has_masks && bmp.compression != kBmpPlain) {
    return {.picture = {},
            .fault = unsupported("BMP of compression {} (a JPEG or PNG within it, or private)",
                                 bmp.compression)};
  }
  if (is_coded && bmp.pixel_bits != (bmp.compression == kBmpRle8 ? 8U : 4U)) {
    return {.picture = {}, .fault = damaged("BMP header: runs of {} bits a pixel", bmp.pixel_bits)};
  }
  if (bmp.pixel_bits <= 8) {
    Picture picture = blank_picture(info.width, info.height, 1, 8);
    picture.set_palette(color_table(view, bmp));
    const bool is_whole =
        is_coded ? read_runs(view, bmp, picture) : read_indexes(view, bmp, picture);
    if (!is_whole) return short_bmp(bytes.size());
    drop_gray_ramp(picture, info);
    return {.picture = std::move(picture), .fault = {}};
  }
  Picture picture =
      blank_picture(info.width, info.height, masks_of(view, bmp)[3].mask != 0 ? 4 : 3, 8);
  if (!read_colors(view, bmp, picture)) return short_bmp(bytes.size());
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
