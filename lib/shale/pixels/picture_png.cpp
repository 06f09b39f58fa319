#include <algorithm>
#include <cstring>
#include <new>

#include "shale/image/header_facts.hpp"
#include "shale/image/png_reader.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

// One byte per sample that has less than 8 bits, 16 bits little-endian: no value changes.
void want_samples(PngReader& reader) {
  png_set_packing(reader.png);
  png_set_swap(reader.png);
  (void)png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
}

void take_palette(Picture& picture, const PngReader& reader) {
  png_colorp colors = nullptr;
  int count = 0;
  std::vector<std::array<std::uint8_t, 3>> palette;
  if (png_get_PLTE(reader.png, reader.info, &colors, &count) != 0) {
    for (int i = 0; i < count; ++i) {
      palette.push_back({colors[i].red, colors[i].green, colors[i].blue});
    }
  }
  picture.set_palette(std::move(palette));
}

void take_transparency(Picture& picture, const PngReader& reader) {
  png_bytep alpha = nullptr;
  int count = 0;
  png_color_16p color = nullptr;
  if (png_get_tRNS(reader.png, reader.info, &alpha, &count, &color) == 0) return;
  if (picture.has_palette) {
    if (alpha != nullptr) picture.palette_alpha.assign(alpha, alpha + count);
  } else if (color != nullptr && picture.channels == 1) {
    picture.transparent = {color->gray, 0, 0};
  } else if (color != nullptr && picture.channels == 3) {
    picture.transparent = {color->red, color->green, color->blue};
  }
}

DecodedPicture png_fault(const PngReader& reader) {
  return {.picture = {}, .fault = damaged("does not decode as PNG: {}", reader.message.data())};
}

}  // namespace

DecodedPicture decode_png(Bytes bytes, const ImageInfo& info) {
  PngReader reader(bytes);
  if (reader.info == nullptr) throw std::bad_alloc();
  if (!guarded_png(reader, read_png_header) || !guarded_png(reader, want_samples)) {
    return png_fault(reader);
  }
  const png_structp png = reader.png;
  const unsigned channels = png_get_channels(png, reader.info);
  const std::uint32_t width = png_get_image_width(png, reader.info);
  const std::uint32_t height = png_get_image_height(png, reader.info);
  // The IHDR that was probed is the one that libpng read.
  if (width != info.width || height != info.height || channels < 1 || channels > 4) {
    return {.picture = {},
            .fault = damaged("PNG of {} x {}, expected {} x {}", width, height, info.width,
                             info.height)};
  }
  Picture picture = blank_picture(info.width, info.height, channels, info.bits);
  if (png_get_rowbytes(png, reader.info) != picture.row_bytes()) {
    return {.picture = {}, .fault = damaged("PNG rows of unexpected length")};
  }
  if (png_get_color_type(png, reader.info) == PNG_COLOR_TYPE_PALETTE) take_palette(picture, reader);
  take_transparency(picture, reader);
  reader.pixels = reinterpret_cast<std::byte*>(picture.samples.data());
  if (!guarded_png(reader, read_png_rows)) return png_fault(reader);
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
