#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shale/pixels/image_geometry.hpp"
#include "shale/pixels/plane_scaler.hpp"

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

/// Scales the rows of an image that comes as interleaved gray or RGB.
class RowScaler {
 public:
  RowScaler(const ImageGeometry& geometry, unsigned channels, SimdLevel level,
            std::uint32_t padding);
  RowScaler(const RowScaler&) = delete;
  RowScaler& operator=(const RowScaler&) = delete;
  [[nodiscard]] static std::uint64_t memory_of(const ImageGeometry& geometry, unsigned channels,
                                               std::uint32_t padding);

  /// The next row, from the top.
  void take(const std::uint8_t* interleaved);
  /// Once all rows were taken.
  [[nodiscard]] ScaledFrame finish();

 private:
  ImageGeometry geometry_;
  std::uint32_t padding_;
  PlaneFilter filter_;
  std::vector<PlaneScaler> scalers_;
  std::uint32_t width_;
  std::uint64_t rows_ = 0;
};

/// Exchanges rows and columns of a result whose geometry wants it.
void turn_planes(std::vector<Plane>& planes, const ImageGeometry& geometry, std::uint32_t padding);

/// YCbCr planes of one size become R, G, B. Source: JFIF 1.02; rounded as libjpeg does.
void ycc_to_rgb(std::vector<Plane>& planes);

}  // namespace shale
