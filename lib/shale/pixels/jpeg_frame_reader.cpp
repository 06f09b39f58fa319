#include "shale/pixels/jpeg_frame_reader.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/jpeg_decompressor.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostRows = 32;  // of one component in a row of MCUs: 4 blocks of 8

// The image may be decoded at 1/2, 1/4 or 1/8 if this much reduction is left for the filter: then
// most of what the DCT leaves out is what the filter would. The SSIM in docs/image_pixels.md is of
// results that include it; other limits were not measured there.
constexpr std::uint64_t kLeastReduction = 2;

unsigned dct_size_for(const ImageGeometry& plan) {
  for (const unsigned size : {1U, 2U, 4U}) {
    const std::uint64_t reduction = kLeastReduction * (8 / size);
    if (plan.source_width >= reduction * plan.scaled_width &&
        plan.source_height >= reduction * plan.scaled_height) {
      return size;
    }
  }
  return 8;
}

unsigned factor_of(unsigned most, unsigned own) { return most >= 2 * own ? 2 : 1; }

struct Sampling {
  unsigned across, down, most_across, most_down, dct_size;
};

PlaneShape shape_of(std::uint32_t width, std::uint32_t height, const Sampling& sampling,
                    const JpegRoute& route, bool is_chroma) {
  PlaneShape shape;
  shape.width = width;
  shape.height = height;
  shape.across_num = std::uint64_t{sampling.across} * sampling.dct_size;
  shape.across_den = std::uint64_t{sampling.most_across} * DCTSIZE;
  shape.down_num = std::uint64_t{sampling.down} * sampling.dct_size;
  shape.down_den = std::uint64_t{sampling.most_down} * DCTSIZE;
  if (is_chroma) {
    shape.pixels_across = route.chroma_across;
    shape.pixels_down = route.chroma_down;
  }
  return shape;
}

// All that a decoding needs and that has a destructor: it is made before libjpeg runs.
struct PlaneScalers {
  std::vector<Plane> planes;
  std::vector<ScalerFilter> filters;  // of luma and of chroma; components of equal shape share one
  std::vector<Scaler> scalers;
};

std::span<const jpeg_component_info> components_of(const jpeg_decompress_struct& state) {
  return {state.comp_info, static_cast<std::size_t>(state.num_components)};
}

bool is_like(const FilterAxis& a, const FilterAxis& b) {
  return a.source_samples == b.source_samples && a.ratio_num == b.ratio_num &&
         a.ratio_den == b.ratio_den && a.first2 == b.first2 && a.step2 == b.step2 &&
         a.outputs == b.outputs && a.kernel == b.kernel;
}

std::uint32_t rows_of(const jpeg_component_info& component) {
  return static_cast<unsigned>(component.v_samp_factor) * dct_size_of(component);
}

void make_scalers(PlaneScalers& made, const jpeg_decompress_struct& state,
                  const ImageGeometry& geometry, const JpegRoute& route, SimdLevel level,
                  std::uint32_t padding) {
  std::vector<std::pair<FilterAxis, FilterAxis>> axes;  // of the filters
  made.filters.reserve(3);                              // scalers refer to them
  for (const jpeg_component_info& component : components_of(state)) {
    const PlaneShape shape =
        shape_of(component.downsampled_width, component.downsampled_height,
                 {static_cast<unsigned>(component.h_samp_factor),
                  static_cast<unsigned>(component.v_samp_factor),
                  static_cast<unsigned>(state.max_h_samp_factor),
                  static_cast<unsigned>(state.max_v_samp_factor), dct_size_of(component)},
                 route, component.component_index != 0);
    const FilterAxis across = across_axis(geometry, shape), down = down_axis(geometry, shape);
    const auto found = std::ranges::find_if(axes, [&](const auto& sides) {
      return is_like(sides.first, across) && is_like(sides.second, down);
    });
    const auto number = static_cast<std::size_t>(found - axes.begin());
    if (found == axes.end()) {
      axes.emplace_back(across, down);
      made.filters.emplace_back(across, down);
    }
    const ScalerFilter& filter = made.filters[number];
    made.scalers.emplace_back(filter,
                              ScalerRows{.stored_channels = 1,
                                         .width = component.downsampled_width,
                                         .lead = filter.across.first,
                                         .rows_at_once = rows_of(component)},
                              add_planes(made.planes, 1, filter, padding), level);
  }
}

void read_planes(jpeg_decompress_struct& state, PlaneScalers& made) {
  std::array<std::array<JSAMPROW, kMostRows>, 3> rows{};
  std::array<JSAMPARRAY, 3> arrays{};
  const std::span components = components_of(state);
  const auto lines = static_cast<JDIMENSION>(static_cast<unsigned>(state.max_v_samp_factor) *
                                             least_dct_size(state));
  for (std::uint64_t group = 0; state.output_scanline < state.output_height; ++group) {
    for (std::size_t c = 0; c < components.size(); ++c) {
      const std::uint64_t count = rows_of(components[c]);
      for (std::uint64_t i = 0; i < count; ++i) {
        rows[c][i] = made.scalers[c].row(group * count + i);
      }
      arrays[c] = rows[c].data();
    }
    jpeg_read_raw_data(&state, arrays.data(), lines);
    for (std::size_t c = 0; c < components.size(); ++c) {
      made.scalers[c].take_rows(std::min<std::uint64_t>((group + 1) * rows_of(components[c]),
                                                        components[c].downsampled_height));
    }
  }
  jpeg_finish_decompress(&state);  // reads on to the EOI
}

bool read_in_planes(JpegDecompressor& decompressor, const ImageGeometry& geometry,
                    const JpegRoute& route, SimdLevel level, std::uint32_t padding,
                    ScaledFrame& frame) {
  const bool was_started = guarded(decompressor, [&](jpeg_decompress_struct& state) {
    state.out_color_space = state.jpeg_color_space;
    state.raw_data_out = TRUE;
    state.scale_num = route.dct_size;
    state.scale_denom = DCTSIZE;
    jpeg_start_decompress(&state);
  });
  if (!was_started) return false;
  PlaneScalers made;
  make_scalers(made, decompressor.state, geometry, route, level, padding);
  const bool was_decoded =
      guarded(decompressor, [&](jpeg_decompress_struct& state) { read_planes(state, made); });
  if (!was_decoded) return false;
  turn_planes(made.planes, geometry, padding);
  frame = {.planes = std::move(made.planes),
           .is_ycc = made.scalers.size() == 3,
           .chroma_across = route.chroma_across,
           .chroma_down = route.chroma_down};
  return true;
}

bool read_in_rows(JpegDecompressor& decompressor, const ImageGeometry& geometry, SimdLevel level,
                  std::uint32_t padding, ScaledFrame& frame) {
  const auto channels = static_cast<unsigned>(decompressor.state.num_components);
  RowScaler rows(geometry, channels, kJpegRowsAtOnce, level, padding);
  const bool was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
    state.out_color_space = pixel_space(state);
    jpeg_start_decompress(&state);
    read_jpeg_rows(
        state, state.output_height, [&](JDIMENSION y) { return rows.scaler.row(y); },
        [&](JDIMENSION y, JDIMENSION count) { rows.scaler.take_rows(y + count); });
    jpeg_finish_decompress(&state);
  });
  if (was_decoded) frame = std::move(rows).finish(geometry, padding);
  return was_decoded;
}

}  // namespace

JpegShape read_jpeg_shape(Bytes jpeg) {
  JpegDecompressor decompressor;
  decompressor.warnings_count = false;
  decompressor.set_source(jpeg);
  JpegShape shape;
  const bool was_read = guarded(decompressor, parse_jpeg_header);
  jpeg_decompress_struct& state = decompressor.state;
  shape.width = state.image_width;
  shape.height = state.image_height;
  if (!was_read) {
    const std::string_view message = decompressor.message.data();
    shape.fault = is_unsupported_jpeg(decompressor.message_code)
                      ? unsupported("JPEG: {}", message)
                      : damaged("does not decode as JPEG: {}", message);
    return shape;
  }
  shape.channels = static_cast<unsigned>(state.num_components);
  if (shape.channels != 1 && shape.channels != 3 && shape.channels != 4) {
    shape.fault = unsupported("JPEG: JPEG of {} channels", shape.channels);
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

JpegRoute jpeg_route(const JpegShape& shape, const ImageGeometry& geometry, bool to_jpeg,
                     bool to_gray) {
  JpegRoute route;
  route.in_planes =
      (shape.is_gray || shape.is_ycc) && (to_jpeg || to_gray || geometry.is_resized());
  if (!route.in_planes) return route;
  route.dct_size = dct_size_for(geometry);
  if (!to_jpeg || to_gray || shape.is_gray) return route;
  route.chroma_across = route.chroma_down = 2;
  if (geometry.is_resized()) return route;
  // Pixels that are only turned or cropped keep the resolution of their chroma.
  route.chroma_across = factor_of(shape.most_across, shape.components[1].across);
  route.chroma_down = factor_of(shape.most_down, shape.components[1].down);
  if (geometry.turn >= 5) std::swap(route.chroma_across, route.chroma_down);
  return route;
}

std::uint64_t jpeg_frame_bytes(const JpegShape& shape, const ImageGeometry& geometry,
                               const JpegRoute& route, std::uint32_t padding) {
  std::uint64_t bytes = shape.decoder_bytes();
  if (!route.in_planes) {
    return bytes + RowScaler::memory_of(geometry, shape.channels == 1 ? 1 : 3, padding);
  }
  // As if it were decoded at full size; a part of that is used if it is not.
  for (unsigned c = 0; c < shape.channels; ++c) {
    const JpegShape::Component& component = shape.components[c];
    const auto samples = [](std::uint64_t side, unsigned own, unsigned most) {
      return static_cast<std::uint32_t>((side * own + most - 1) / most);
    };
    const PlaneShape plane =
        shape_of(samples(shape.width, component.across, shape.most_across),
                 samples(shape.height, component.down, shape.most_down),
                 {component.across, component.down, shape.most_across, shape.most_down, DCTSIZE},
                 route, c != 0);
    const FilterAxis across = across_axis(geometry, plane), down = down_axis(geometry, plane);
    bytes += Scaler::memory_of_plane(across, down, component.down * DCTSIZE, padding) +
             Plane::size_of(down.outputs, across.outputs, padding);
  }
  return bytes;
}

FrameOrFault read_jpeg_frame(Bytes jpeg, const ImageInfo& info, const ImageGeometry& geometry,
                             const JpegRoute& route, SimdLevel level, std::uint32_t padding,
                             std::uint64_t coefficient_limit) {
  JpegDecompressor decompressor;
  if (auto fault = open_jpeg(decompressor, jpeg, info, coefficient_limit)) {
    return {.frame = {}, .fault = *std::move(fault)};
  }
  FrameOrFault result;
  const bool was_decoded =
      route.in_planes ? read_in_planes(decompressor, geometry, route, level, padding, result.frame)
                      : read_in_rows(decompressor, geometry, level, padding, result.frame);
  if (!was_decoded) result.fault = jpeg_fault(decompressor, coefficient_limit);
  return result;
}

DecodedPicture decode_jpeg_exactly(Bytes bytes, const ImageInfo& info, std::uint64_t limit_bytes) {
  JpegDecompressor decompressor;
  if (auto fault = open_jpeg(decompressor, bytes, info, limit_bytes)) {
    return {.picture = {}, .fault = *std::move(fault)};
  }
  const int stored = decompressor.state.num_components;
  Picture picture = blank_picture(info.width, info.height, stored == 1 ? 1 : 3, 8);
  const bool was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
    state.out_color_space = pixel_space(state);
    read_jpeg_pixels(state, picture.samples.data());
    jpeg_finish_decompress(&state);
  });
  if (!was_decoded) return {.picture = {}, .fault = jpeg_fault(decompressor, limit_bytes)};
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
