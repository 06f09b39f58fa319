#include "shale/pixels/mask_work.hpp"

#include <cstring>

#include "shale/image/header_facts.hpp"
#include "shale/pixels/png_writer.hpp"
#include "shale/pixels/scaled_frame.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostPixelBytes = 8;

PlaneShape shape_of_picture(const ImageInfo& info) {
  PlaneShape shape;
  shape.width = info.width;
  shape.height = info.height;
  return shape;
}

// The pixels of `from` at the places that the result takes them from.
void pick_pixels(const Picture& from, const ImageGeometry& geometry, const ImageInfo& info,
                 Picture& into) {
  const PlaneShape shape = shape_of_picture(info);
  const std::vector<std::uint32_t> across = nearest_samples(across_axis(geometry, shape));
  const std::vector<std::uint32_t> down = nearest_samples(down_axis(geometry, shape));
  const bool is_turned = geometry.turn >= 5;
  const std::size_t pixel = from.pixel_bytes();
  for (std::uint32_t y = 0; y < into.height; ++y) {
    std::uint8_t* place = into.row(y);
    for (std::uint32_t x = 0; x < into.width; ++x, place += pixel) {
      const std::uint32_t stored_x = across[is_turned ? y : x];
      const std::uint32_t stored_y = down[is_turned ? x : y];
      std::memcpy(place, from.row(stored_y) + stored_x * pixel, pixel);
    }
  }
}

}  // namespace

MaskResult work_on_mask(Bytes image, const ImageInfo& info, const ImageGeometry& geometry, bool raw,
                        const ImageMetadata& metadata, std::uint64_t limit_bytes,
                        std::vector<std::byte>& into) {
  const DecodedPicture decoded = decode_picture(image, info, true, limit_bytes);
  if (!decoded.fault.empty()) return {.fault = decoded.fault, .bytes = 0};
  const Picture& from = decoded.picture;
  if (raw && (from.channels != 1 || from.bits > 8)) {
    return {.fault = unsupported("raw values of a mask are one byte per pixel, this one has {} "
                                 "channels of {} bits",
                                 from.channels, from.bits),
            .bytes = 0};
  }
  Picture result;
  result.width = geometry.width;
  result.height = geometry.height;
  result.channels = from.channels;
  result.bits = from.bits;
  result.top_level = from.top_level;
  result.has_palette = from.has_palette;
  result.palette = from.palette;
  result.palette_alpha = from.palette_alpha;
  result.transparent = from.transparent;
  result.samples.resize(result.row_bytes() * result.height);
  pick_pixels(from, geometry, info, result);
  if (!raw) return {.fault = {}, .bytes = write_png(result, metadata, into)};
  std::memcpy(into.data(), result.samples.data(), result.samples.size());
  return {.fault = {}, .bytes = result.samples.size()};
}

std::uint64_t mask_bytes(const ImageInfo& info, const ImageGeometry& geometry) {
  const std::uint64_t result = std::uint64_t{geometry.width} * geometry.height * kMostPixelBytes;
  const std::uint64_t places = std::uint64_t{geometry.width} + geometry.height;
  return picture_bytes(info) + result + places * sizeof(std::uint32_t);
}

}  // namespace shale
