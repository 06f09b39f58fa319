#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shale/image/rgb.hpp"
#include "shale/pixels/plane_scaler.hpp"

namespace shale {

/// The windows of one axis of a view, counted from the first sample that any of them needs: what is
/// before that sample, or behind the last one, need not be decoded. The weights are those of the
/// whole axis: they are renormalized at its ends, not at those of the needed samples.
struct ViewWindows {
  /// Errors: std::bad_alloc.
  explicit ViewWindows(const FilterAxis& axis);
  FilterWindows windows;
  std::uint32_t first = 0;    ///< sample of the axis
  std::uint32_t samples = 0;  ///< that are needed, from the first one on
  bool is_upward = false;     ///< outputs ascend as the source descends: mirrored
};

struct ViewFilter {
  ViewFilter(const FilterAxis& across_axis, const FilterAxis& down_axis)
      : across(across_axis), down(down_axis) {}
  ViewWindows across, down;
};

/// The rows that a ViewScaler takes.
struct ViewRows {
  unsigned stored_channels = 3;  ///< 1 gray, 3 RGB, 4 CMYK as Adobe stores it
  std::uint32_t width = 0;       ///< pixels of a row
  std::uint32_t lead = 0;        ///< so many come before the first that the filter needs
};

/// Where the pixels of a result go: memory of the caller.
struct ViewTarget {
  std::span<std::byte> into;
  unsigned channels = 3;  ///< 3 RGB, 1 gray
  PixelOrder order = PixelOrder::hwc;
};

/// Scales interleaved rows while they come in, from top to bottom, into interleaved pixels or
/// planes. The vertical pass works on rows as they come; only its results are split into channels.
class ViewScaler {
 public:
  /// How many rows may be written before take_rows().
  static constexpr std::uint32_t kRowsAtOnce = 8;

  /// The filter is borrowed, and so is the target's memory.
  ViewScaler(const ViewFilter& filter, const ViewRows& rows, const ViewTarget& target,
             SimdLevel level);
  /// What it takes at most, with the filter; `width`: pixels of the widest rows.
  [[nodiscard]] static std::uint64_t memory_of(const FilterAxis& across, const FilterAxis& down,
                                               std::uint32_t width);

  /// Where row `y` is to be written, the first that the filter needs being row 0. Valid until
  /// kRowsAtOnce rows further on.
  [[nodiscard]] std::uint8_t* row(std::uint64_t y) { return ring_.row(y % ring_.height); }
  /// All rows before `end` have been written.
  void take_rows(std::uint64_t end);

 private:
  void write_output(std::uint32_t output);

  const ViewFilter& filter_;
  const FilterRows& passes_;
  ViewRows rows_;
  ViewTarget target_;
  std::size_t channels_;  // of the rows once adapted: 1 or 3
  Plane ring_;
  std::vector<std::int16_t> columns_;  // one row of column values, interleaved
  std::vector<std::int16_t> channel_;  // those of one channel
  std::vector<std::uint8_t> line_;     // one row of one channel of the result
  std::vector<const std::uint8_t*> window_;
  std::uint64_t adapted_ = 0;  // rows
  std::uint32_t done_ = 0;     // outputs, in ascending order of the source
};

}  // namespace shale
