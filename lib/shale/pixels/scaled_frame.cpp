//  A pixel of the turned image, (x', y'), is the stored pixel (W and H: the stored image's sides)
//  1 (x', y')          5 (y', x')
//  2 (W-1-x', y')      6 (y', H-1-x')
//  3 (W-1-x', H-1-y')  7 (W-1-y', H-1-x')
//  4 (x', H-1-y')      8 (W-1-y', x')
//  Source: CIPA DC-008 4.6.5.1.5.

#include "shale/pixels/scaled_frame.hpp"

#include <algorithm>
#include <numeric>

#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

bool is_exchanged(unsigned turn) { return turn >= 5; }
bool mirrors_across(unsigned turn) { return turn == 2 || turn == 3 || turn == 7 || turn == 8; }
bool mirrors_down(unsigned turn) { return turn == 3 || turn == 4 || turn == 6 || turn == 7; }

// One side of the turned image.
struct Side {
  std::uint32_t source, scaled, crop, result;
  unsigned pixels;  // per sample of the result's plane
};

FilterAxis axis_of(const Side& side, bool is_mirrored, std::uint32_t samples, std::uint64_t num,
                   std::uint64_t den) {
  FilterAxis axis;
  axis.source_samples = samples;
  axis.ratio_num = side.source * num;
  axis.ratio_den = side.scaled * den;
  const std::uint64_t common = std::gcd(axis.ratio_num, axis.ratio_den);
  axis.ratio_num /= common;
  axis.ratio_den /= common;
  const std::int64_t pixels = side.pixels;
  axis.first2 = 2 * std::int64_t{side.crop} + pixels;
  axis.step2 = 2 * pixels;
  axis.outputs = (side.result + side.pixels - 1) / side.pixels;
  if (is_mirrored) {
    axis.first2 = 2 * std::int64_t{side.scaled} - axis.first2;
    axis.step2 = -axis.step2;
  }
  return axis;
}

Side horizontal(const ImageGeometry& plan, const PlaneShape& shape) {
  return {plan.source_width, plan.scaled_width, plan.crop_x, plan.width, shape.pixels_across};
}
Side vertical(const ImageGeometry& plan, const PlaneShape& shape) {
  return {plan.source_height, plan.scaled_height, plan.crop_y, plan.height, shape.pixels_down};
}

std::uint32_t stored_width(const ImageGeometry& plan) {
  return is_exchanged(plan.turn) ? plan.source_height : plan.source_width;
}

PlaneShape shape_of_rows(const ImageGeometry& plan) {
  const bool is_turned = is_exchanged(plan.turn);
  PlaneShape shape;
  shape.width = stored_width(plan);
  shape.height = is_turned ? plan.source_width : plan.source_height;
  return shape;
}

std::uint8_t clipped(int level) { return static_cast<std::uint8_t>(std::clamp(level, 0, 255)); }

}  // namespace

FilterAxis across_axis(const ImageGeometry& geometry, const PlaneShape& shape) {
  const Side side =
      is_exchanged(geometry.turn) ? vertical(geometry, shape) : horizontal(geometry, shape);
  return axis_of(side, mirrors_across(geometry.turn), shape.width, shape.across_num,
                 shape.across_den);
}

FilterAxis down_axis(const ImageGeometry& geometry, const PlaneShape& shape) {
  const Side side =
      is_exchanged(geometry.turn) ? horizontal(geometry, shape) : vertical(geometry, shape);
  return axis_of(side, mirrors_down(geometry.turn), shape.height, shape.down_num, shape.down_den);
}

std::vector<ScalerTarget> add_planes(std::vector<Plane>& planes, unsigned count,
                                     const ScalerFilter& filter, std::uint32_t padding) {
  const auto outputs = [](const ScalerWindows& side) {
    return static_cast<std::uint32_t>(side.windows.begin.size());
  };
  std::vector<ScalerTarget> targets;
  for (; count > 0; --count) {
    Plane& plane = planes.emplace_back(outputs(filter.across), outputs(filter.down), padding);
    targets.push_back({.pixels = plane.bytes.data(), .row = plane.stride});
  }
  return targets;
}

RowScaler::RowScaler(const ImageGeometry& geometry, unsigned stored_channels,
                     std::uint32_t rows_at_once, SimdLevel level, std::uint32_t padding)
    : filter(across_axis(geometry, shape_of_rows(geometry)),
             down_axis(geometry, shape_of_rows(geometry))),
      scaler(filter,
             {.stored_channels = stored_channels,
              .width = shape_of_rows(geometry).width,
              .lead = filter.across.first,
              .rows_at_once = rows_at_once},
             add_planes(frame.planes, stored_channels == 1 ? 1 : 3, filter, padding), level) {}

std::uint64_t RowScaler::memory_of(const ImageGeometry& geometry, unsigned channels,
                                   std::uint32_t padding) {
  const PlaneShape shape = shape_of_rows(geometry);
  const FilterAxis across = across_axis(geometry, shape), down = down_axis(geometry, shape);
  return channels * (Scaler::memory_of_plane(across, down, 1, padding) +
                     Plane::size_of(down.outputs, across.outputs, padding));
}

ScaledFrame RowScaler::finish(const ImageGeometry& geometry, std::uint32_t padding) && {
  turn_planes(frame.planes, geometry, padding);
  return std::move(frame);
}

void turn_planes(std::vector<Plane>& planes, const ImageGeometry& geometry, std::uint32_t padding) {
  if (!is_exchanged(geometry.turn)) return;
  for (Plane& plane : planes) plane = transposed(plane, padding);
}

// 16 fractional bits; Cb and Cr are centered on 128.
void ycc_to_rgb(std::vector<Plane>& planes) {
  constexpr int kHalf = 1 << 15;
  constexpr int kRedOfCr = 91881, kBlueOfCb = 116130, kGreenOfCb = -22554, kGreenOfCr = -46802;
  for (std::uint64_t y = 0; y < planes[0].height; ++y) {
    std::uint8_t* const first = planes[0].row(y);
    std::uint8_t* const second = planes[1].row(y);
    std::uint8_t* const third = planes[2].row(y);
    for (std::size_t x = 0; x < planes[0].width; ++x) {
      const int luma = first[x], cb = second[x] - 128, cr = third[x] - 128;
      first[x] = clipped(luma + ((kRedOfCr * cr + kHalf) >> 16));
      second[x] = clipped(luma + ((kGreenOfCb * cb + kGreenOfCr * cr + kHalf) >> 16));
      third[x] = clipped(luma + ((kBlueOfCb * cb + kHalf) >> 16));
    }
  }
}

void rgb_to_gray(std::vector<Plane>& planes) {
  for (std::uint64_t y = 0; y < planes[0].height; ++y) {
    std::uint8_t* const gray = planes[0].row(y);
    const std::uint8_t* const green = planes[1].row(y);
    const std::uint8_t* const blue = planes[2].row(y);
    for (std::size_t x = 0; x < planes[0].width; ++x)
      gray[x] = static_cast<std::uint8_t>(luma_of(gray[x], green[x], blue[x]));
  }
}

}  // namespace shale
