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

#include "shale/pixels/image_view.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/image/header_facts.hpp"
#include "shale/pixels/jpeg_shape.hpp"
#include "shale/pixels/jpeg_view.hpp"
#include "shale/pixels/picture.hpp"
#include "shale/pixels/view_scaler.hpp"

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

ImageFault too_large_view(std::string text) {
  return {ImageFaultCode::too_large, "is too large: " + std::move(text)};
}

ImageFault read_picture_view(Bytes image, const ImageInfo& info, const ImageView& view,
                             const ViewTarget& target, SimdLevel level, std::uint64_t limit_bytes) {
  const DecodedPicture decoded = decode_picture(image, info, false, limit_bytes);
  if (!decoded.fault.empty()) return decoded.fault;
  const Picture& picture = decoded.picture;
  const AlphaRule alpha = view.drops_alpha ? AlphaRule::dropped : AlphaRule::over_white;
  const ViewFilter filter(across_side(view, kBlockSide).axis, down_side(view, kBlockSide).axis);
  ViewScaler scaler(filter,
                    {.stored_channels = picture.photo_channels(),
                     .width = picture.width,
                     .lead = view.box.x + filter.across.first},
                    target, level);
  for (std::uint64_t y = 0; y < filter.down.samples; ++y) {
    photo_row(picture, view.box.y + filter.down.first + y, scaler.row(y), alpha);
    scaler.take_rows(y + 1);
  }
  return {};
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
    plan.fault = too_large_view(
        fmt::format("{} x {} pixels scaled to {} x {}, a result of {} x {}, {} are allowed",
                    info.width, info.height, view.whole_width(), view.whole_height(), view.width,
                    view.height, kMostImagePixels));
    return plan;
  }
  if (info.type == ImageType::jpeg) {
    const JpegShape shape = read_jpeg_shape(image);
    if (!shape.objection.empty()) {
      plan.fault = shape.is_supported ? damaged("does not decode as JPEG: {}", shape.objection)
                                      : unsupported("JPEG: {}", shape.objection);
      return plan;
    }
    plan.dct_size = view_dct_size(view);
    plan.work_bytes = shape.decoder_bytes();
  } else {
    plan.work_bytes = picture_bytes(info);
  }
  plan.work_bytes += ViewScaler::memory_of(across_side(view, plan.dct_size).axis,
                                           down_side(view, plan.dct_size).axis, info.width);
  if (plan.work_bytes > limit_bytes) {
    plan.fault = too_large_view(
        fmt::format("{} x {} pixels take up to {} bytes to decode and filter, {} are allowed",
                    info.width, info.height, plan.work_bytes, limit_bytes));
  }
  return plan;
}

ImageFault read_view(Bytes image, const ImageInfo& info, const ImageView& view,
                     const ViewPlan& plan, std::span<std::byte> into, SimdLevel level) {
  if (!plan.fault.empty()) throw Error(Code::bug, "an image is viewed that has a fault");
  if (into.size() != view.size()) {
    throw Error(Code::bug, "room of {} bytes for a view of {}", into.size(), view.size());
  }
  const ViewTarget target{.into = into, .channels = view.channels, .order = view.order};
  if (info.type != ImageType::jpeg) {
    return read_picture_view(image, info, view, target, level, plan.work_bytes);
  }
  const ViewSide across = across_side(view, plan.dct_size), down = down_side(view, plan.dct_size);
  const ViewFilter filter(across.axis, down.axis);
  return read_jpeg_part(image, info,
                        {.dct_size = plan.dct_size,
                         .left = across.first + filter.across.first,
                         .top = down.first + filter.down.first},
                        filter, target, level, plan.work_bytes);
}

}  // namespace shale
