//  Where an output's center lies, on one side of the image, if blocks are decoded as s of 8
//  samples:
//
//    pixels    box.x + (i + 1/2) * box.width / width
//    samples   that * s / 8 - first, first being the sample that holds the box's first pixel
//
//  as an axis: first2 = box.width * s + 2 * (box.x * s - 8 * first) * width,
//  step2 = 2 * box.width * s, ratio 1 / (8 * width): exact in integers. `width` is here what the
//  box is scaled to; a window of it is the same axis from output window_x on, and to mirror it is
//  to go through it from the last output on: centers, and so weights, stay the same to the bit.
//
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

#include "shale/pixels/image_view.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/image/header_facts.hpp"
#include "shale/image/jpeg_decompressor.hpp"
#include "shale/pixels/jpeg_frame_reader.hpp"
#include "shale/pixels/picture.hpp"
#include "shale/pixels/scaler.hpp"

namespace shale {
namespace {

constexpr std::uint32_t kBlockSide = 8;

// What is asked for on one side of a view.
struct WantedSide {
  std::uint32_t begin, length;  // of the box
  std::uint32_t scaled;         // what it is scaled to
  std::uint32_t window, outputs;
  bool is_reversed;
};

struct ViewSide {
  std::uint32_t first = 0;  // sample
  FilterAxis axis;
};

ViewSide side_of(const WantedSide& wanted, FilterKernel kernel, unsigned dct_size) {
  const std::uint32_t begin = wanted.begin, length = wanted.length;
  const std::uint64_t common = std::gcd(dct_size, kBlockSide);
  const std::uint64_t num = dct_size / common, den = kBlockSide / common;
  const std::uint64_t first = begin * num / den;
  const std::uint64_t end = ((std::uint64_t{begin} + length) * num + den - 1) / den;
  ViewSide side{.first = static_cast<std::uint32_t>(first), .axis = {}};
  side.axis.source_samples = static_cast<std::uint32_t>(end - first);
  side.axis.ratio_num = 1;
  side.axis.ratio_den = den * wanted.scaled;
  side.axis.first2 =
      static_cast<std::int64_t>(length * num + 2 * (begin * num - den * first) * wanted.scaled);
  side.axis.step2 = static_cast<std::int64_t>(2 * length * num);
  side.axis.first2 += wanted.window * side.axis.step2;
  if (wanted.is_reversed) {
    side.axis.first2 += (wanted.outputs - 1) * side.axis.step2;
    side.axis.step2 = -side.axis.step2;
  }
  side.axis.outputs = wanted.outputs;
  side.axis.kernel = kernel;
  return side;
}

ViewSide across_side(const ImageView& view, unsigned dct_size) {
  return side_of({.begin = view.box.x,
                  .length = view.box.width,
                  .scaled = view.whole_width(),
                  .window = view.window_x,
                  .outputs = view.width,
                  .is_reversed = view.is_mirrored},
                 view.kernel, dct_size);
}
ViewSide down_side(const ImageView& view, unsigned dct_size) {
  return side_of({.begin = view.box.y,
                  .length = view.box.height,
                  .scaled = view.whole_height(),
                  .window = view.window_y,
                  .outputs = view.height,
                  .is_reversed = view.is_upside_down},
                 view.kernel, dct_size);
}

// A single sample of a smaller scale is a mean of many: not what `nearest` takes.
unsigned view_dct_size(const ImageView& view) {
  if (!view.scaled_decoding || view.kernel == FilterKernel::nearest) return kBlockSide;
  for (const unsigned size : {1U, 2U, 4U}) {
    if (std::uint64_t{view.box.width} * size >= std::uint64_t{view.whole_width()} * kBlockSide &&
        std::uint64_t{view.box.height} * size >= std::uint64_t{view.whole_height()} * kBlockSide) {
      return size;
    }
  }
  return kBlockSide;
}

bool is_span_within(std::uint32_t begin, std::uint32_t length, std::uint32_t side) {
  return length > 0 && length <= side && begin <= side - length;
}

void check_view(const ImageInfo& info, const ImageView& view) {
  const PixelBox& box = view.box;
  if (!is_span_within(box.x, box.width, info.width) ||
      !is_span_within(box.y, box.height, info.height)) {
    throw Error(Code::bug, "a box of {} x {} pixels at {}, {} of an image of {} x {}", box.width,
                box.height, box.x, box.y, info.width, info.height);
  }
  if (view.width == 0 || view.height == 0 || (view.channels != 1 && view.channels != 3)) {
    throw Error(Code::bug, "a view of {} x {} pixels of {} channels", view.width, view.height,
                view.channels);
  }
  if (!is_span_within(view.window_x, view.width, view.whole_width()) ||
      !is_span_within(view.window_y, view.height, view.whole_height())) {
    throw Error(Code::bug, "a window of {} x {} pixels at {}, {} of a box scaled to {} x {}",
                view.width, view.height, view.window_x, view.window_y, view.whole_width(),
                view.whole_height());
  }
}

std::vector<ScalerTarget> targets_of(const ImageView& view, std::span<std::byte> into) {
  auto* const pixels = reinterpret_cast<std::uint8_t*>(into.data());
  const std::size_t width = view.width, plane = width * view.height;
  std::vector<ScalerTarget> targets;
  for (std::size_t c = 0; c < view.channels; ++c) {
    targets.push_back(view.order == PixelOrder::chw
                          ? ScalerTarget{.pixels = pixels + plane * c, .row = width}
                          : ScalerTarget{.pixels = pixels + c,
                                         .row = width * view.channels,
                                         .sample = view.channels});
  }
  return targets;
}

ImageFault read_picture_view(Bytes image, const ImageInfo& info, const ImageView& view,
                             std::span<std::byte> into, SimdLevel level,
                             std::uint64_t limit_bytes) {
  const DecodedPicture decoded = decode_picture(image, info, false, limit_bytes);
  if (!decoded.fault.empty()) return decoded.fault;
  const Picture& picture = decoded.picture;
  const AlphaRule alpha = view.drops_alpha ? AlphaRule::dropped : AlphaRule::over_white;
  const ScalerFilter filter(across_side(view, kBlockSide).axis, down_side(view, kBlockSide).axis);
  Scaler scaler(filter,
                {.stored_channels = picture.photo_channels(),
                 .width = picture.width,
                 .lead = view.box.x + filter.across.first},
                targets_of(view, into), level);
  const std::uint64_t first = filter.down.first, end = first + filter.down.samples;
  for (std::uint64_t y = first; y < end; ++y) {
    photo_row(picture, view.box.y + y, scaler.row(y), alpha);
    scaler.take_rows(y + 1);
  }
  return {};
}

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

// The part of a JPEG from `left` and `top` on, in samples.
struct JpegPart {
  unsigned dct_size;
  JDIMENSION left, columns, top;
};

// Up to the first row that is to be read: the first column that is decoded.
JDIMENSION start_part(jpeg_decompress_struct& state, const JpegPart& part) {
  state.out_color_space = pixel_space(state);
  state.scale_num = part.dct_size;
  state.scale_denom = DCTSIZE;
  jpeg_start_decompress(&state);
  if (!has_all_scans(state)) return 0;
  const JDIMENSION whole = state.output_width;
  const JDIMENSION right = std::min(part.left + part.columns + kUpsamplingMargin, whole);
  JDIMENSION left = part.left - std::min(part.left, kUpsamplingMargin), first_column = 0;
  if (right - left < whole && can_crop_columns(state)) {
    JDIMENSION width = right - left;
    jpeg_crop_scanline(&state, &left, &width);
    first_column = left;
  }
  if (part.top > 0) jpeg_skip_scanlines(&state, part.top);
  return first_column;
}

ImageFault read_jpeg_view(Bytes jpeg, const ImageInfo& info, const ImageView& view,
                          const ViewPlan& plan, std::span<std::byte> into, SimdLevel level) {
  JpegDecompressor decompressor;
  if (auto fault = open_jpeg(decompressor, jpeg, info, plan.work_bytes)) return *std::move(fault);
  const ViewSide across = across_side(view, plan.dct_size), down = down_side(view, plan.dct_size);
  const ScalerFilter filter(across.axis, down.axis);
  const JpegPart part{.dct_size = plan.dct_size,
                      .left = across.first + filter.across.first,
                      .columns = filter.across.samples,
                      .top = down.first + filter.down.first};
  JDIMENSION first_column = 0;
  bool was_decoded = guarded(
      decompressor, [&](jpeg_decompress_struct& state) { first_column = start_part(state, part); });
  if (was_decoded) {
    Scaler scaler(
        filter,
        {.stored_channels = static_cast<unsigned>(decompressor.state.out_color_components),
         .width = decompressor.state.output_width,
         .lead = part.left - first_column,
         .rows_at_once = kJpegRowsAtOnce},
        targets_of(view, into), level);
    // Rows before the box come only if none could be skipped.
    const auto row_at = [&](JDIMENSION y) {
      return scaler.row(y - std::min<JDIMENSION>(y, down.first));
    };
    const auto take = [&](JDIMENSION y, JDIMENSION count) {
      scaler.take_rows(y + count - std::min<JDIMENSION>(y + count, down.first));
    };
    was_decoded = guarded(decompressor, [&](jpeg_decompress_struct& state) {
      read_jpeg_rows(state, part.top + filter.down.samples, row_at, take);
    });
  }
  // What is behind the last row is not read: no jpeg_finish_decompress().
  return was_decoded ? ImageFault{} : jpeg_fault(decompressor, plan.work_bytes);
}

}  // namespace

ViewPlan plan_view(Bytes image, const ImageInfo& info, const ImageView& view,
                   std::uint64_t limit_bytes) {
  ViewPlan plan;
  plan.fault = info.fault;
  if (!plan.fault.empty()) return plan;
  check_view(info, view);
  const std::uint64_t pixels = std::uint64_t{info.width} * info.height;
  const std::uint64_t result = std::uint64_t{view.width} * view.height;
  // Of what is scaled only the window is made: its sides alone are bounded, for exact positions.
  const std::uint64_t scaled_side = std::max(view.whole_width(), view.whole_height());
  if (std::max({pixels, result, scaled_side}) > kMostImagePixels) {
    plan.fault = too_large("{} x {} pixels scaled to {} x {}, a result of {} x {}, {} are allowed",
                           info.width, info.height, view.whole_width(), view.whole_height(),
                           view.width, view.height, kMostImagePixels);
    return plan;
  }
  if (info.type == ImageType::jpeg) {
    const JpegShape shape = read_jpeg_shape(image);
    plan.fault = shape.fault;
    if (!plan.fault.empty()) return plan;
    plan.dct_size = view_dct_size(view);
    plan.work_bytes = shape.decoder_bytes();
  } else {
    plan.work_bytes = picture_bytes(info);
  }
  plan.work_bytes +=
      Scaler::memory_of_rows(across_side(view, plan.dct_size).axis,
                             down_side(view, plan.dct_size).axis, kJpegRowsAtOnce, info.width);
  if (plan.work_bytes > limit_bytes)
    plan.fault = takes_too_much(info, plan.work_bytes, limit_bytes);
  return plan;
}

ImageFault read_view(Bytes image, const ImageInfo& info, const ImageView& view,
                     const ViewPlan& plan, std::span<std::byte> into, SimdLevel level) {
  if (!plan.fault.empty()) throw Error(Code::bug, "an image is viewed that has a fault");
  if (into.size() != view.size()) {
    throw Error(Code::bug, "room of {} bytes for a view of {}", into.size(), view.size());
  }
  return info.type == ImageType::jpeg
             ? read_jpeg_view(image, info, view, plan, into, level)
             : read_picture_view(image, info, view, into, level, plan.work_bytes);
}

}  // namespace shale
