#include "shale/pixels/jpeg_shape.hpp"

#include <fmt/format.h>

#include "shale/image/jpeg_decompressor.hpp"

namespace shale {

JpegShape read_jpeg_shape(Bytes jpeg) {
  JpegDecompressor decompressor;
  decompressor.warnings_count = false;
  decompressor.set_source(jpeg);
  JpegShape shape;
  const bool was_read = guarded(decompressor, [](jpeg_decompress_struct& state) {
    while (jpeg_read_header(&state, FALSE) == JPEG_HEADER_TABLES_ONLY) {
    }
  });
  jpeg_decompress_struct& state = decompressor.state;
  shape.width = state.image_width;
  shape.height = state.image_height;
  if (!was_read) {
    shape.objection = decompressor.message.data();
    shape.is_supported = !is_unsupported_jpeg(decompressor.message_code);
    return shape;
  }
  shape.channels = static_cast<unsigned>(state.num_components);
  if (shape.channels != 1 && shape.channels != 3 && shape.channels != 4) {
    shape.objection = fmt::format("JPEG of {} channels", shape.channels);
    shape.is_supported = false;
    return shape;
  }
  for (unsigned i = 0; i < shape.channels; ++i) {
    const jpeg_component_info& component = state.comp_info[i];
    shape.components[i] = {static_cast<unsigned>(component.h_samp_factor),
                           static_cast<unsigned>(component.v_samp_factor)};
  }
  shape.most_across = static_cast<unsigned>(state.max_h_samp_factor);
  shape.most_down = static_cast<unsigned>(state.max_v_samp_factor);
  shape.is_gray = state.jpeg_color_space == JCS_GRAYSCALE;
  shape.is_ycc = state.jpeg_color_space == JCS_YCbCr;
  shape.is_cmyk = shape.channels == 4;
  shape.has_many_scans = jpeg_has_multiple_scans(&state) == TRUE;
  return shape;
}

std::uint64_t JpegShape::decoder_bytes() const {
  constexpr std::uint64_t kTables = std::uint64_t{256} << 10, kBlock = 8, kRowsInside = 64;
  std::uint64_t bytes = kTables + std::uint64_t{width} * channels * kRowsInside;
  if (!has_many_scans) return bytes;
  for (unsigned i = 0; i < channels; ++i) {
    const std::uint64_t across = kBlock * most_across, down = kBlock * most_down;
    const std::uint64_t mcus_across = (width + across - 1) / across;
    const std::uint64_t mcus_down = (height + down - 1) / down;
    bytes += mcus_across * mcus_down * components[i].across * components[i].down * kBlock * kBlock *
             sizeof(JCOEF);
  }
  return bytes;
}

}  // namespace shale
