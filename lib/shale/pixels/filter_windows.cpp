//  A kernel k(t), t = distance from the center in units of the coarser of the two grids, is 1 at 0
//  and 0 at every other integer. `smooth` is
//    12 k = 16 t^3 - 28 t^2 + 12            for t in [0, 1]
//         = -7 t^3 + 36 t^2 - 59 t + 30     for t in [1, 2]
//         =    t^3 -  8 t^2 + 21 t - 18     for t in [2, 3]
//  Source: R. Keys, "Cubic convolution interpolation for digital image processing", 1981: the
//  cubic of six points. It is nearly Lanczos3, needs no sine, and is exact in integers.
//  docs/image_pixels.md has the SSIM of the results beside Pillow's.
//  `triangle` is 1 - t, `cubic` the same author's cubic of four points, with a = -0.5.

#include "shale/pixels/filter_windows.hpp"

#include <algorithm>

namespace shale {
namespace {

__extension__ typedef __int128 Wide;

constexpr int kPlaceBits = 20;   // of positions, in samples
constexpr int kKernelBits = 16;  // of t
constexpr int kValueBits = 28;   // of k(t)
constexpr std::int64_t kOne = std::int64_t{1} << kPlaceBits;
// Of fine windows.
constexpr int kFinePlaceBits = 32, kFineKernelBits = 26;

// 12 k(t) in [i, i + 1]: a t^3 + b t^2 + c t + d.
struct KernelPiece {
  std::int64_t a, b, c, d;
};
constexpr std::size_t kMostPieces = 3;
struct Kernel {
  std::int64_t support;  // pieces; beyond them it is 0
  KernelPiece pieces[kMostPieces];
};
// In the order of FilterKernel; `nearest` has none.
constexpr Kernel kKernels[] = {{3, {{16, -28, 0, 12}, {-7, 36, -59, 30}, {1, -8, 21, -18}}},
                               {1, {{0, 0, -12, 12}}},
                               {2, {{18, -30, 0, 12}, {-6, 30, -48, 24}}},
                               {0, {}}};

const Kernel& kernel_of(const FilterAxis& axis) {
  return kKernels[static_cast<std::size_t>(axis.kernel)];
}

// 12 k(t) with kValueBits; `t` has kBits. t^3 * a has at most three times those, and 9 more.
template <int kBits, class Number>
std::int64_t value_at(const Kernel& kernel, Number t) {
  const auto piece = static_cast<std::int64_t>(t >> kBits);
  if (piece >= kernel.support) return 0;
  const auto& [a, b, c, d] = kernel.pieces[piece];
  const Number t2 = t * t, t3 = t2 * t;
  return static_cast<std::int64_t>(
      (a * t3 + (b * t2 << kBits) + (c * t << 2 * kBits) + (Number{d} << 3 * kBits)) >>
      (3 * kBits - kValueBits));
}

// Samples of the source for one step of the output, at least 1, with kPlaceBits.
std::int64_t stretch_of(const FilterAxis& axis) {
  const Wide step = axis.step2 < 0 ? -axis.step2 : axis.step2;
  const Wide stretch = (step * static_cast<Wide>(axis.ratio_num) << (kPlaceBits - 1)) /
                       static_cast<Wide>(axis.ratio_den);
  return static_cast<std::int64_t>(std::max<Wide>(stretch, kOne));
}

// The center of an output, in samples with kPlaceBits. Nearly always 64 bits hold it all, and
// divide in a third of the time.
std::int64_t center_of(const FilterAxis& axis, std::uint32_t output) {
  const std::int64_t twice = axis.first2 + static_cast<std::int64_t>(output) * axis.step2;
  constexpr std::int64_t kSmall = std::int64_t{1} << 43;
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(twice, static_cast<std::int64_t>(axis.ratio_num), &product) &&
      product < kSmall && product >= 0) {
    return (product << (kPlaceBits - 1)) / static_cast<std::int64_t>(axis.ratio_den);
  }
  return static_cast<std::int64_t>(
      (Wide{twice} * static_cast<Wide>(axis.ratio_num) << (kPlaceBits - 1)) /
      static_cast<Wide>(axis.ratio_den));
}

// Rounds running sums, not single weights, so that they add up to exactly one whatever their
// number. A partial sum is at most 1.3 times the whole: the product has less than 62 bits.
template <int kBits, class Weight>
void quantize(const std::vector<std::int64_t>& values, std::int64_t sum, Weight* into) {
  constexpr int kMore = 61 - kBits;
  constexpr std::int64_t kHalf = std::int64_t{1} << (kMore - 1);
  const std::int64_t unit = (std::int64_t{1} << (kBits + kMore)) / sum;
  std::int64_t running = 0, before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    running += values[i];
    const std::int64_t here =
        i + 1 == values.size() ? std::int64_t{1} << kBits : (running * unit + kHalf) >> kMore;
    into[i] = static_cast<Weight>(here - before);
    before = here;
  }
}

}  // namespace

std::uint64_t window_samples(const FilterAxis& axis) {
  const auto reach =
      static_cast<std::uint64_t>(stretch_of(axis) * kernel_of(axis).support >> kPlaceBits) + 1;
  const std::uint64_t most = std::min<std::uint64_t>(2 * reach + 1, axis.source_samples);
  return (most + FilterWindows::kWeightGroup - 1) / FilterWindows::kWeightGroup *
         FilterWindows::kWeightGroup;
}

std::uint64_t window_bytes(const FilterAxis& axis) {
  return axis.outputs * (window_samples(axis) * sizeof(std::int16_t) + 2 * sizeof(std::uint32_t)) +
         window_samples(axis) * sizeof(std::int64_t);
}

FilterWindows make_filter_windows(const FilterAxis& axis) {
  FilterWindows windows;
  windows.weights_each = static_cast<std::size_t>(window_samples(axis));
  windows.begin.resize(axis.outputs);
  windows.count.resize(axis.outputs);
  windows.weights.resize(windows.weights_each * axis.outputs);
  if (axis.kernel == FilterKernel::nearest) {
    windows.begin = nearest_samples(axis);
    for (std::uint32_t output = 0; output < axis.outputs; ++output) {
      windows.count[output] = 1;
      windows.weights[output * windows.weights_each] = std::int16_t{1} << kWeightBits;
    }
    return windows;
  }
  const Kernel& kernel = kernel_of(axis);
  const std::int64_t stretch = stretch_of(axis), reach = stretch * kernel.support;
  const std::int64_t inverse = (std::int64_t{1} << (kPlaceBits + 32)) / stretch;
  const std::int64_t last = std::int64_t{axis.source_samples} - 1;
  std::vector<std::int64_t> values;
  values.reserve(windows.weights_each);
  for (std::uint32_t output = 0; output < axis.outputs; ++output) {
    const std::int64_t center = center_of(axis, output), middle = center - kOne / 2;
    // Samples whose middle is nearer than `reach`.
    std::int64_t from = std::clamp<std::int64_t>((middle - reach + kOne) >> kPlaceBits, 0, last);
    const std::int64_t to = std::clamp<std::int64_t>((middle + reach) >> kPlaceBits, from, last);
    values.clear();
    std::int64_t sum = 0;
    for (std::int64_t x = from; x <= to; ++x) {
      const std::int64_t distance = (x << kPlaceBits) - middle;
      const std::int64_t t =
          ((distance < 0 ? -distance : distance) * inverse) >> (kPlaceBits + 32 - kKernelBits);
      const std::int64_t value = value_at<kKernelBits>(kernel, t);
      if (value == 0 && values.empty() && x < to) {
        from = x + 1;
        continue;
      }
      values.push_back(value);
      sum += value;
    }
    while (values.size() > 1 && values.back() == 0) values.pop_back();
    if (sum <= 0) {  // cannot be for a center within the source; a single sample otherwise
      values.assign(1, 1);
      sum = 1;
    }
    windows.begin[output] = static_cast<std::uint32_t>(from);
    windows.count[output] = static_cast<std::uint32_t>(values.size());
    quantize<kWeightBits>(values, sum, windows.weights.data() + output * windows.weights_each);
  }
  return windows;
}

// The same with more bits throughout, and without what makes the plain ones fast.
FineWindows make_fine_windows(const FilterAxis& axis) {
  FineWindows windows;
  windows.weights_each = static_cast<std::size_t>(window_samples(axis));
  windows.begin.resize(axis.outputs);
  windows.count.resize(axis.outputs);
  windows.weights.resize(windows.weights_each * axis.outputs);
  const auto in_samples = [&axis](std::int64_t twice) {
    return (Wide{twice} * static_cast<Wide>(axis.ratio_num) << (kFinePlaceBits - 1)) /
           static_cast<Wide>(axis.ratio_den);
  };
  constexpr Wide kWhole = Wide{1} << kFinePlaceBits;
  const Kernel& kernel = kernel_of(axis);
  const Wide stretch = std::max(in_samples(axis.step2 < 0 ? -axis.step2 : axis.step2), kWhole);
  const Wide reach = stretch * kernel.support, last = Wide{axis.source_samples} - 1;
  std::vector<std::int64_t> values;
  for (std::uint32_t output = 0; output < axis.outputs; ++output) {
    const Wide middle =
        in_samples(axis.first2 + static_cast<std::int64_t>(output) * axis.step2) - kWhole / 2;
    const Wide from = std::clamp<Wide>((middle - reach + kWhole) >> kFinePlaceBits, 0, last);
    const Wide to = std::clamp<Wide>((middle + reach) >> kFinePlaceBits, from, last);
    values.clear();
    std::int64_t sum = 0;
    for (Wide x = from; x <= to; ++x) {
      const Wide distance = (x << kFinePlaceBits) - middle;
      const Wide t = ((distance < 0 ? -distance : distance) << kFineKernelBits) / stretch;
      values.push_back(value_at<kFineKernelBits>(kernel, t));
      sum += values.back();
    }
    // At an unchanged size one sample is all.
    const auto first =
        std::find_if(values.begin(), values.end() - 1, [](auto v) { return v != 0; });
    const Wide begin = from + (first - values.begin());
    values.erase(values.begin(), first);
    while (values.size() > 1 && values.back() == 0) values.pop_back();
    windows.begin[output] = static_cast<std::uint32_t>(begin);
    windows.count[output] = static_cast<std::uint32_t>(values.size());
    quantize<kFineWeightBits>(values, sum, windows.weights.data() + output * windows.weights_each);
  }
  return windows;
}

std::vector<std::uint32_t> nearest_samples(const FilterAxis& axis) {
  std::vector<std::uint32_t> samples(axis.outputs);
  const std::int64_t last = std::int64_t{axis.source_samples} - 1;
  for (std::uint32_t output = 0; output < axis.outputs; ++output) {
    const Wide twice = axis.first2 + static_cast<std::int64_t>(output) * axis.step2;
    const auto at = static_cast<std::int64_t>(twice * static_cast<Wide>(axis.ratio_num) /
                                              (2 * static_cast<Wide>(axis.ratio_den)));
    samples[output] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(at, 0, last));
  }
  return samples;
}

}  // namespace shale
