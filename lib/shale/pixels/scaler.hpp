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

/// `plane` with rows and columns exchanged.
[[nodiscard]] Plane transposed(const Plane& plane, std::uint32_t padding);

/// The windows of one axis, counted from the first sample that any of them needs: what is before
/// that sample, or behind the last one, need not be there. The weights are those of the whole axis:
/// they are renormalized at its ends, not at those of the needed samples.
struct ScalerWindows {
  /// Errors: std::bad_alloc.
  explicit ScalerWindows(const FilterAxis& axis);
  FilterWindows windows;
  std::uint32_t first = 0;    ///< sample of the axis
  std::uint32_t samples = 0;  ///< that are needed, from the first one on
  bool is_upward = false;     ///< outputs ascend as the source descends: mirrored
};

struct ScalerFilter {
  ScalerFilter(const FilterAxis& across_axis, const FilterAxis& down_axis)
      : across(across_axis), down(down_axis) {}
  ScalerWindows across, down;
};

/// The rows that a Scaler takes.
struct ScalerRows {
  unsigned stored_channels = 3;    ///< 1 gray, 3 RGB, 4 CMYK as Adobe stores it
  std::uint32_t width = 0;         ///< pixels of a row
  std::uint32_t lead = 0;          ///< so many come before the first that the filter needs
  std::uint32_t rows_at_once = 1;  ///< that may be written before take_rows()
};

/// Where a channel of the result goes, in memory of the caller: the first sample, and how many
/// bytes further the next row and the next sample of a row are.
struct ScalerTarget {
  std::uint8_t* pixels;
  std::size_t row, sample = 1;
};

/// Scales interleaved rows while they come in, from top to bottom, into planes or interleaved
/// pixels. It keeps as many rows as a window needs. The vertical pass works on rows as they come;
/// only its results are split into channels.
class Scaler {
 public:
  /// The filter is borrowed, and so is the memory of the targets: one for gray, whatever comes in,
  /// three for RGB.
  Scaler(const ScalerFilter& filter, const ScalerRows& rows, std::vector<ScalerTarget> targets,
         SimdLevel level);
  /// What it takes at most, with the filter, for one channel in a plane of its own: with it.
  [[nodiscard]] static std::uint64_t memory_of_plane(const FilterAxis& across,
                                                     const FilterAxis& down,
                                                     std::uint32_t rows_at_once,
                                                     std::uint32_t padding);
  /// The same for all channels, without the result; `width`: pixels of the widest rows.
  [[nodiscard]] static std::uint64_t memory_of_rows(const FilterAxis& across,
                                                    const FilterAxis& down,
                                                    std::uint32_t rows_at_once,
                                                    std::uint32_t width);

  /// Where row `y` of the axis is to be written: room for its samples and kRowSlack more. Valid
  /// until `rows_at_once` rows further on. Rows that no window needs may be left out.
  [[nodiscard]] std::uint8_t* row(std::uint64_t y) { return ring_.row(y % ring_.height); }
  /// All rows before `end` have been written.
  void take_rows(std::uint64_t end);

 private:
  void write_output(std::uint32_t output);

  const ScalerFilter& filter_;
  const FilterRows& passes_;
  ScalerRows rows_;
  std::vector<ScalerTarget> targets_;
  std::size_t channels_;  // of the rows once adapted: 1 or 3
  Plane ring_;
  std::vector<std::int16_t> columns_;        // one row of column values, interleaved
  std::vector<std::int16_t> channel_;        // those of one channel
  std::vector<std::uint8_t> line_;           // one row of one channel of the result
  std::vector<const std::uint8_t*> window_;  // the rows of a vertical window
  std::uint64_t adapted_;                    // rows before it
  std::uint32_t done_ = 0;                   // outputs, in ascending order of the source
};

}  // namespace shale
