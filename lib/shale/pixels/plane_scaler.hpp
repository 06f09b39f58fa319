#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/pixels/filter_rows.hpp"
#include "shale/pixels/filter_windows.hpp"

namespace shale {

/// One channel of an image in memory: rows of `stride` bytes, the first `width` of each are
/// samples.
struct Plane {
  std::uint32_t width = 0, height = 0;
  std::size_t stride = 0;
  std::vector<std::uint8_t> bytes;

  Plane() = default;
  /// `padding`: the multiple to which rows and their number are rounded up.
  Plane(std::uint32_t plane_width, std::uint32_t plane_height, std::uint32_t padding = 1);
  [[nodiscard]] std::uint8_t* row(std::uint64_t y) { return bytes.data() + y * stride; }
  [[nodiscard]] const std::uint8_t* row(std::uint64_t y) const { return bytes.data() + y * stride; }
  /// Repeats the last sample of each row, and the last row, into the padding.
  void fill_padding();
  [[nodiscard]] static std::uint64_t size_of(std::uint64_t width, std::uint64_t height,
                                             std::uint64_t padding);
};

/// Both axes of a plane. Planes of equal axes share the windows.
struct PlaneFilter {
  PlaneFilter(const FilterAxis& across_axis, const FilterAxis& down_axis);
  FilterAxis across_axis, down_axis;
  FilterWindows across, down;
};

/// Scales one plane while its rows come in, from top to bottom. It keeps as many rows as a window
/// needs, never the plane.
class PlaneScaler {
 public:
  /// `rows_at_once`: how many rows the source hands out before take_rows(). The filter is borrowed.
  PlaneScaler(const PlaneFilter& filter, std::uint32_t rows_at_once, SimdLevel level,
              std::uint32_t padding);
  /// What all of it takes at most: windows, rows and result.
  [[nodiscard]] static std::uint64_t memory_of(const FilterAxis& across, const FilterAxis& down,
                                               std::uint32_t rows_at_once, std::uint32_t padding);

  /// Where source row `y` is to be written: room for its samples and kRowSlack more. Valid until
  /// `rows_at_once` rows further on.
  [[nodiscard]] std::uint8_t* row(std::uint64_t y) { return ring_.row(y % ring_.height); }
  /// All rows before `end` have been written.
  void take_rows(std::uint64_t end);
  /// The scaled plane, once all rows were taken.
  [[nodiscard]] Plane& result() { return result_; }

 private:
  const PlaneFilter& filter_;
  const FilterRows& passes_;
  Plane ring_, result_;
  std::vector<std::int16_t> columns_;        // one row of column values
  std::vector<const std::uint8_t*> window_;  // the rows of a vertical window
  std::uint32_t done_ = 0;                   // outputs, in ascending order of the source
  bool is_upward_;                           // outputs ascend as the source descends: mirrored
};

/// `plane` with rows and columns exchanged.
[[nodiscard]] Plane transposed(const Plane& plane, std::uint32_t padding);

}  // namespace shale
