#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shale/pixels/image_rule.hpp"
#include "shale/pixels/scaler.hpp"

namespace shale {

/// Where the samples of one channel lie in the image: `across_num / across_den` of them per pixel,
/// beginning with the first edge. Positions are exact: padding has no influence.
struct PlaneShape {
  std::uint32_t width = 0, height = 0;
  std::uint64_t across_num = 1, across_den = 1, down_num = 1, down_den = 1;
  unsigned pixels_across = 1, pixels_down = 1;  ///< of the result, per sample of its plane
};

/// The axes of a channel's plane as stored; what turns and mirrors the image is in them, except for
/// the exchange of rows and columns (turned()).
[[nodiscard]] FilterAxis across_axis(const ImageGeometry& geometry, const PlaneShape& shape);
[[nodiscard]] FilterAxis down_axis(const ImageGeometry& geometry, const PlaneShape& shape);

/// The planes of a result.
struct ScaledFrame {
  std::vector<Plane> planes;  ///< gray; R, G, B; or Y, Cb, Cr
  bool is_ycc = false;
  unsigned chroma_across = 1, chroma_down = 1;  ///< pixels per sample of Cb and Cr
};

/// Scales the rows of an image that comes as interleaved gray, RGB or CMYK, to gray or RGB.
struct RowScaler {
  RowScaler(const ImageGeometry& geometry, unsigned stored_channels, std::uint32_t rows_at_once,
            SimdLevel level, std::uint32_t padding);
  [[nodiscard]] static std::uint64_t memory_of(const ImageGeometry& geometry, unsigned channels,
                                               std::uint32_t padding);
  /// Once all rows were taken.
  [[nodiscard]] ScaledFrame finish(const ImageGeometry& geometry, std::uint32_t padding) &&;

  ScalerFilter filter;
  ScaledFrame frame;
  Scaler scaler;
};

/// Adds planes for what the filter makes: the targets that they are.
[[nodiscard]] std::vector<ScalerTarget> add_planes(std::vector<Plane>& planes, unsigned count,
                                                   const ScalerFilter& filter,
                                                   std::uint32_t padding);

/// Exchanges rows and columns of a result whose geometry wants it.
void turn_planes(std::vector<Plane>& planes, const ImageGeometry& geometry, std::uint32_t padding);

/// YCbCr planes of one size become R, G, B. Source: JFIF 1.02; rounded as libjpeg does.
void ycc_to_rgb(std::vector<Plane>& planes);
/// Of R, G, B the first becomes luma_of() the three.
void rgb_to_gray(std::vector<Plane>& planes);

}  // namespace shale
