#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shale {

/// What a filter weighs samples by. All are stretched when the image shrinks, so that nothing
/// aliases, but `nearest`, which takes one sample.
enum class FilterKernel {
  smooth,    ///< six points, nearly Lanczos3: what `shale convert` scales by
  triangle,  ///< two points: Pillow's BILINEAR, torchvision's antialiased bilinear
  cubic,     ///< four points, a = -0.5: Pillow's BICUBIC
  nearest,   ///< the sample that contains the center: Pillow's NEAREST
};

/// One axis of a plane on its way to another size, in exact positions: the samples' edges are what
/// is mapped, not the sizes of planes, which codecs pad.
/// Output i has its center at (first2 + i * step2) / 2 pixels of the scaled image, which is
/// (first2 + i * step2) / 2 * ratio_num / ratio_den samples of the source plane. A negative step
/// mirrors.
struct FilterAxis {
  std::uint32_t source_samples = 0;
  std::uint64_t ratio_num = 1, ratio_den = 1;
  std::int64_t first2 = 1, step2 = 2;
  std::uint32_t outputs = 0;
  FilterKernel kernel = FilterKernel::smooth;
};

/// For each output the run of source samples that it is made of, and their weights: 16384 in sum.
/// The kernel is piecewise cubic in integer arithmetic (filter_windows.cpp) and renormalized where
/// it reaches beyond an edge.
/// All outputs have the same number of weights: some are zero, and their samples may lie beyond the
/// source's last one.
template <class Weight>
struct WindowsOf {
  /// A multiple of this many samples per window.
  static constexpr std::size_t kWeightGroup = 8;

  std::size_t weights_each = 0;      ///< a multiple of kWeightGroup
  std::vector<std::uint32_t> begin;  ///< first sample of each output
  std::vector<std::uint32_t> count;  ///< samples that have a weight
  std::vector<Weight> weights;       ///< weights_each for each output
};
using FilterWindows = WindowsOf<std::int16_t>;
/// For samples of 16 bits, whose lowest bit 14 bits of weight would not reach: 2^24 in sum.
using FineWindows = WindowsOf<std::int32_t>;

/// Weights have this many fractional bits.
inline constexpr int kWeightBits = 14, kFineWeightBits = 24;

/// Errors: std::bad_alloc. window_bytes() says beforehand how much it takes.
[[nodiscard]] FilterWindows make_filter_windows(const FilterAxis& axis);
[[nodiscard]] FineWindows make_fine_windows(const FilterAxis& axis);
/// The most memory that the windows of an axis take (fine ones twice as much), and the most samples
/// of one window.
[[nodiscard]] std::uint64_t window_bytes(const FilterAxis& axis);
[[nodiscard]] std::uint64_t window_samples(const FilterAxis& axis);

/// The source sample that contains the center of each output: for masks.
[[nodiscard]] std::vector<std::uint32_t> nearest_samples(const FilterAxis& axis);

}  // namespace shale
