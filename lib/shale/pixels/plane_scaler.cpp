#include "shale/pixels/plane_scaler.hpp"

#include <algorithm>
#include <cstring>

namespace shale {
namespace {

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::uint64_t ring_rows(const FilterAxis& down, std::uint32_t rows_at_once) {
  return window_samples(down) + rows_at_once;
}

}  // namespace

Plane::Plane(std::uint32_t plane_width, std::uint32_t plane_height, std::uint32_t padding)
    : width(plane_width),
      height(plane_height),
      stride(rounded_up(plane_width, padding)),
      bytes(size_of(plane_width, plane_height, padding)) {}

std::uint64_t Plane::size_of(std::uint64_t width, std::uint64_t height, std::uint64_t padding) {
  return rounded_up(width, padding) * rounded_up(height, padding);
}

void Plane::fill_padding() {
  const std::uint64_t rows = bytes.size() / stride;
  for (std::uint64_t y = 0; y < height; ++y) {
    std::memset(row(y) + width, row(y)[width - 1], stride - width);
  }
  for (std::uint64_t y = height; y < rows; ++y) std::memcpy(row(y), row(height - 1), stride);
}

PlaneFilter::PlaneFilter(const FilterAxis& across_of, const FilterAxis& down_of)
    : across_axis(across_of),
      down_axis(down_of),
      across(make_filter_windows(across_of)),
      down(make_filter_windows(down_of)) {}

PlaneScaler::PlaneScaler(const PlaneFilter& filter, std::uint32_t rows_at_once, SimdLevel level,
                         std::uint32_t padding)
    : filter_(filter),
      passes_(filter_rows(level)),
      result_(filter.across_axis.outputs, filter.down_axis.outputs, padding),
      columns_(filter.across_axis.source_samples + filter.across.weights_each + kRowSlack),
      is_upward_(filter.down_axis.step2 < 0) {
  const std::uint32_t samples = filter.across_axis.source_samples;
  ring_.width = samples;
  ring_.height = static_cast<std::uint32_t>(ring_rows(filter.down_axis, rows_at_once));
  ring_.stride = rounded_up(samples + kRowSlack, 64);
  ring_.bytes.resize(ring_.stride * ring_.height);
  window_.resize(filter.down.weights_each);
}

std::uint64_t PlaneScaler::memory_of(const FilterAxis& across, const FilterAxis& down,
                                     std::uint32_t rows_at_once, std::uint32_t padding) {
  const std::uint64_t row = rounded_up(std::uint64_t{across.source_samples} + kRowSlack, 64);
  return window_bytes(across) + window_bytes(down) + ring_rows(down, rows_at_once) * row +
         (across.source_samples + window_samples(across) + kRowSlack) * sizeof(std::int16_t) +
         window_samples(down) * sizeof(void*) +
         Plane::size_of(across.outputs, down.outputs, padding);
}

void PlaneScaler::take_rows(std::uint64_t end) {
  const FilterWindows& down = filter_.down;
  const std::uint32_t outputs = filter_.down_axis.outputs;
  for (; done_ < outputs; ++done_) {
    const std::uint32_t output = is_upward_ ? outputs - 1 - done_ : done_;
    const std::uint64_t first = down.begin[output], count = down.count[output];
    if (first + count > end) return;
    for (std::uint64_t i = 0; i < count; ++i) window_[i] = row(first + i);
    passes_.down(window_.data(), down.weights.data() + output * down.weights_each, count,
                 filter_.across_axis.source_samples, columns_.data());
    passes_.across(columns_.data(), filter_.across, result_.row(output));
  }
}

Plane transposed(const Plane& plane, std::uint32_t padding) {
  Plane turned(plane.height, plane.width, padding);
  // In squares that fit the cache.
  constexpr std::uint32_t kSquare = 32;
  for (std::uint32_t top = 0; top < plane.height; top += kSquare) {
    for (std::uint32_t left = 0; left < plane.width; left += kSquare) {
      const std::uint32_t bottom = std::min(top + kSquare, plane.height);
      const std::uint32_t right = std::min(left + kSquare, plane.width);
      for (std::uint32_t y = top; y < bottom; ++y) {
        for (std::uint32_t x = left; x < right; ++x) turned.row(x)[y] = plane.row(y)[x];
      }
    }
  }
  return turned;
}

}  // namespace shale
