#include "shale/pixels/jpeg_frame_reader.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "shale/image/codecs.hpp"
#include "shale/image/header_facts.hpp"
#include "shale/image/jpeg_decompressor.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostRows = 32;  // of one component in a row of MCUs: 4 blocks of 8
constexpr JDIMENSION kStripe = 8;

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
  std::vector<PlaneFilter> filters;  // of luma and of chroma; components of equal shape share one
  std::vector<PlaneScaler> scalers;
};

bool is_like(const FilterAxis& a, const FilterAxis& b) {
  return a.source_samples == b.source_samples && a.ratio_num == b.ratio_num &&
         a.ratio_den == b.ratio_den && a.first2 == b.first2 && a.step2 == b.step2 &&
         a.outputs == b.outputs && a.kernel == b.kernel;
}

void make_scalers(PlaneScalers& made, const jpeg_decompress_struct& state,
                  const ImageGeometry& geometry, const JpegRoute& route, SimdLevel level,
                  std::uint32_t padding) {
  std::array<std::size_t, 3> filter_of{};
  made.filters.reserve(3);  // scalers refer to them
  for (std::size_t c = 0; c < static_cast<std::size_t>(state.num_components); ++c) {
    const jpeg_component_info& component = state.comp_info[c];
    const PlaneShape shape =
        shape_of(component.downsampled_width, component.downsampled_height,
                 {static_cast<unsigned>(component.h_samp_factor),
                  static_cast<unsigned>(component.v_samp_factor),
                  static_cast<unsigned>(state.max_h_samp_factor),
                  static_cast<unsigned>(state.max_v_samp_factor), dct_size_of(component)},
                 route, c != 0);
    const FilterAxis across = across_axis(geometry, shape), down = down_axis(geometry, shape);
    const auto found =
        std::find_if(made.filters.begin(), made.filters.end(), [&](const PlaneFilter& filter) {
          return is_like(filter.across_axis, across) && is_like(filter.down_axis, down);
        });
    filter_of[c] = static_cast<std::size_t>(found - made.filters.begin());
    if (found == made.filters.end()) made.filters.emplace_back(across, down);
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(state.num_components); ++c) {
    const jpeg_component_info& component = state.comp_info[c];
    const unsigned rows = static_cast<unsigned>(component.v_samp_factor) * dct_size_of(component);
    made.scalers.emplace_back(made.filters[filter_of[c]], rows, level, padding);
  }
}

void read_planes(jpeg_decompress_struct& state, PlaneScalers& made) {
  std::array<std::array<JSAMPROW, kMostRows>, 3> rows{};
  std::array<JSAMPARRAY, 3> arrays{};
  const std::size_t components = made.scalers.size();
  const auto lines = static_cast<JDIMENSION>(static_cast<unsigned>(state.max_v_samp_factor) *
                                             least_dct_size(state));
  for (std::uint64_t group = 0; state.output_scanline < state.output_height; ++group) {
    for (std::size_t c = 0; c < components; ++c) {
      const jpeg_component_info& component = state.comp_info[c];
      const std::uint64_t count =
          static_cast<unsigned>(component.v_samp_factor) * std::uint64_t{dct_size_of(component)};
      for (std::uint64_t i = 0; i < count; ++i) {
        rows[c][i] = made.scalers[c].row(group * count + i);
      }
      arrays[c] = rows[c].data();
    }
    jpeg_read_raw_data(&state, arrays.data(), lines);
    for (std::size_t c = 0; c < components; ++c) {
      const jpeg_component_info& component = state.comp_info[c];
      const std::uint64_t count =
          static_cast<unsigned>(component.v_samp_factor) * std::uint64_t{dct_size_of(component)};
      made.scalers[c].take_rows(
          std::min<std::uint64_t>((group + 1) * count, component.downsampled_height));
    }
  }
  jpeg_finish_decompress(&state);  // reads on to the EOI
}

// Calls `take(row)` for each row of gray or RGB.
template <class Take>
void read_rows(jpeg_decompress_struct& state, const Take& take) {
  const bool is_cmyk = state.num_components == 4;
  const bool is_gray = state.num_components == 1;
  state.out_color_space = is_cmyk ? JCS_CMYK : is_gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&state);
  const auto row_bytes = state.output_width * static_cast<JDIMENSION>(state.output_components);
  JSAMPARRAY stripe = state.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&state), JPOOL_IMAGE,
                                              row_bytes, kStripe);
  while (state.output_scanline < state.output_height) {
    const JDIMENSION count = jpeg_read_scanlines(&state, stripe, kStripe);
    for (JDIMENSION i = 0; i < count; ++i) {
      if (is_cmyk) pack_cmyk_as_rgb(stripe[i], state.output_width);
      take(stripe[i]);
    }
  }
  jpeg_finish_decompress(&state);
}

}  // namespace

JpegRoute jpeg_route(const JpegShape& shape, const ImageGeometry& geometry, bool to_jpeg) {
  JpegRoute route;
  route.in_planes = (shape.is_gray || shape.is_ycc) && (to_jpeg || geometry.is_resized());
  if (!route.in_planes) return route;
  route.dct_size = dct_size_for(geometry);
  if (!to_jpeg || shape.is_gray) return route;
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
    bytes += PlaneScaler::memory_of(across, down, component.down * DCTSIZE, padding) +
             Plane::size_of(down.outputs, across.outputs, padding);
  }
  return bytes;
}

JpegFrameResult read_jpeg_frame(Bytes jpeg, const ImageInfo& info, const ImageGeometry& geometry,
                                const JpegRoute& route, SimdLevel level, std::uint32_t padding,
                                std::uint64_t coefficient_limit) {
  JpegDecompressor decompressor;
  if (auto fault = open_jpeg(decompressor, jpeg, info, coefficient_limit)) {
    return {.frame = {}, .fault = *std::move(fault)};
  }
  JpegFrameResult result;
  bool was_decoded = false;
  if (route.in_planes) {
    PlaneScalers made;
    was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
      state.out_color_space = state.jpeg_color_space;
      state.raw_data_out = TRUE;
      state.scale_num = route.dct_size;
      state.scale_denom = DCTSIZE;
      jpeg_start_decompress(&state);
    });
    if (was_decoded) {
      make_scalers(made, decompressor.state, geometry, route, level, padding);
      was_decoded =
          guarded(decompressor, [&](jpeg_decompress_struct& state) { read_planes(state, made); });
    }
    if (was_decoded) {
      for (PlaneScaler& scaler : made.scalers) {
        result.frame.planes.push_back(std::move(scaler.result()));
      }
      turn_planes(result.frame.planes, geometry, padding);
      result.frame.is_ycc = result.frame.planes.size() == 3;
      result.frame.chroma_across = route.chroma_across;
      result.frame.chroma_down = route.chroma_down;
    }
  } else {
    const unsigned channels = decompressor.state.num_components == 1 ? 1 : 3;
    RowScaler scaler(geometry, channels, level, padding);
    was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
      read_rows(state, [&](const std::uint8_t* row) { scaler.take(row); });
    });
    if (was_decoded) result.frame = scaler.finish();
  }
  if (!was_decoded) result.fault = jpeg_fault(decompressor, coefficient_limit);
  return result;
}

DecodedPicture decode_jpeg_exactly(Bytes bytes, const ImageInfo& info, std::uint64_t limit_bytes) {
  JpegDecompressor decompressor;
  if (auto fault = open_jpeg(decompressor, bytes, info, limit_bytes)) {
    return {.picture = {}, .fault = *std::move(fault)};
  }
  Picture picture = blank_picture(info, decompressor.state.num_components == 1 ? 1 : 3, 8);
  std::uint64_t y = 0;
  const bool was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
    read_rows(state, [&](const std::uint8_t* row) {
      std::copy_n(row, picture.row_bytes(), picture.row(y));
      ++y;
    });
  });
  if (!was_decoded) return {.picture = {}, .fault = jpeg_fault(decompressor, limit_bytes)};
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
