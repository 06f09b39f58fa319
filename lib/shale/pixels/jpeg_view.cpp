//  What is decoded of a JPEG for the columns [left, right) and the rows [top, bottom):
//
//    rows above     skipped by jpeg_skip_scanlines(): Huffman codes are read, nothing else is done
//    columns        jpeg_crop_scanline(): whole MCUs that cover [left - 2, right + 2). Smooth
//                   chroma upsampling mixes each chroma sample with its neighbors, and does
//                   otherwise in the outermost columns; with two more pixels none of those is used
//    rows below     not read
//
//  libjpeg-turbo 2.1.5 gets wrong, and so it is not asked to:
//    crop columns   if a component is upsampled that has larger blocks than the others (4:1:0 at
//                   half size): the part of its row that is upsampled is then too short
//    crop, skip     if blocks are smoothed, as those of a progressive image that lacks scans are:
//                   that needs the blocks around each

#include "shale/pixels/jpeg_view.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "shale/image/jpeg_decompressor.hpp"

namespace shale {
namespace {

constexpr JDIMENSION kUpsamplingMargin = 2;

// True if all coefficients that smoothing would estimate have come.
bool has_all_scans(const jpeg_decompress_struct& state) {
  if (state.coef_bits == nullptr) return true;
  for (int c = 0; c < state.num_components; ++c) {
    const int* const bits = state.coef_bits[c];
    if (std::any_of(bits, bits + DCTSIZE2, [](int missing) { return missing != 0; })) return false;
  }
  return true;
}

bool can_crop_columns(const jpeg_decompress_struct& state) {
  const unsigned least = least_dct_size(state);
  const auto is_cropped_well = [&](const jpeg_component_info& component) {
    const unsigned size = dct_size_of(component);
    return size == least || (static_cast<unsigned>(component.h_samp_factor) * size ==
                                 static_cast<unsigned>(state.max_h_samp_factor) * least &&
                             static_cast<unsigned>(component.v_samp_factor) * size ==
                                 static_cast<unsigned>(state.max_v_samp_factor) * least);
  };
  return std::all_of(state.comp_info, state.comp_info + state.num_components, is_cropped_well);
}

struct StartedPart {
  JDIMENSION first_column = 0;  // of what is decoded
  JDIMENSION rows_before = 0;   // decoded, but not wanted
};

// Up to the first row that is to be read.
StartedPart start_part(jpeg_decompress_struct& state, const JpegPart& part,
                       std::uint32_t wanted_columns) {
  const bool is_cmyk = state.num_components == 4, is_gray = state.num_components == 1;
  state.out_color_space = is_cmyk ? JCS_CMYK : is_gray ? JCS_GRAYSCALE : JCS_RGB;
  state.scale_num = part.dct_size;
  state.scale_denom = DCTSIZE;
  jpeg_start_decompress(&state);
  if (!has_all_scans(state)) return {.rows_before = part.top};
  StartedPart started;
  const JDIMENSION whole = state.output_width;
  const JDIMENSION right =
      std::min<JDIMENSION>(part.left + wanted_columns + kUpsamplingMargin, whole);
  JDIMENSION left = part.left - std::min<JDIMENSION>(part.left, kUpsamplingMargin);
  if (right - left < whole && can_crop_columns(state)) {
    JDIMENSION width = right - left;
    jpeg_crop_scanline(&state, &left, &width);
    started.first_column = left;
  }
  if (part.top > 0) jpeg_skip_scanlines(&state, part.top);
  return started;
}

void read_part(jpeg_decompress_struct& state, JDIMENSION rows_before, std::uint32_t wanted_rows,
               ViewScaler& scaler) {
  std::array<JSAMPROW, ViewScaler::kRowsAtOnce> rows{};
  for (JDIMENSION y = 0; y < rows_before;) {
    rows[0] = scaler.row(0);
    y += jpeg_read_scanlines(&state, rows.data(), 1);
  }
  for (JDIMENSION y = 0; y < wanted_rows;) {
    const JDIMENSION most = std::min<JDIMENSION>(wanted_rows - y, ViewScaler::kRowsAtOnce);
    for (JDIMENSION i = 0; i < most; ++i) rows[i] = scaler.row(y + i);
    y += jpeg_read_scanlines(&state, rows.data(), most);
    scaler.take_rows(y);
  }
}

}  // namespace

ImageFault read_jpeg_part(Bytes jpeg, const ImageInfo& info, const JpegPart& part,
                          const ViewFilter& filter, const ViewTarget& target, SimdLevel level,
                          std::uint64_t coefficient_limit) {
  JpegDecompressor decompressor;
  if (auto fault = open_jpeg(decompressor, jpeg, info, coefficient_limit)) {
    return *std::move(fault);
  }
  StartedPart started;
  bool was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
    started = start_part(state, part, filter.across.samples);
  });
  if (was_decoded) {
    const ViewRows rows{
        .stored_channels = static_cast<unsigned>(decompressor.state.out_color_components),
        .width = decompressor.state.output_width,
        .lead = part.left - started.first_column};
    ViewScaler scaler(filter, rows, target, level);
    was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
      read_part(state, started.rows_before, filter.down.samples, scaler);
    });
  }
  // What is behind the last row is not read: no jpeg_finish_decompress().
  return was_decoded ? ImageFault{} : jpeg_fault(decompressor, coefficient_limit);
}

}  // namespace shale
