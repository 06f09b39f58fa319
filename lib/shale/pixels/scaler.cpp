#include "shale/pixels/scaler.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "shale/image/codecs.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostStoredChannels = 4, kRingAlignment = 64;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// With rows of so many bytes, and so many column values at once.
std::uint64_t scaler_bytes(const FilterAxis& across, const FilterAxis& down,
                           std::uint32_t rows_at_once, std::uint64_t row_bytes,
                           std::uint64_t column_values) {
  return window_bytes(across) + window_bytes(down) +
         (window_samples(down) + rows_at_once) * row_bytes + column_values * sizeof(std::int16_t) +
         window_samples(down) * sizeof(void*);
}

// Pillow's convert("L"): ITU-R BT.601 with 16 fractional bits.
void pack_rgb_as_gray(std::uint8_t* row, std::size_t width) {
  constexpr unsigned kRed = 19595, kGreen = 38470, kBlue = 7471, kHalf = 1U << 15;
  for (std::size_t x = 0; x < width; ++x) {
    const std::uint8_t* const pixel = row + 3 * x;
    row[x] = static_cast<std::uint8_t>(
        (pixel[0] * kRed + pixel[1] * kGreen + pixel[2] * kBlue + kHalf) >> 16);
  }
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

ScalerWindows::ScalerWindows(const FilterAxis& axis)
    : windows(make_filter_windows(axis)), is_upward(axis.step2 < 0) {
  std::uint32_t end = 0;
  first = axis.source_samples;
  for (std::size_t i = 0; i < windows.begin.size(); ++i) {
    first = std::min(first, windows.begin[i]);
    end = std::max(end, windows.begin[i] + windows.count[i]);
  }
  for (std::uint32_t& begin : windows.begin) begin -= first;
  samples = end - first;
}

Scaler::Scaler(const ScalerFilter& filter, const ScalerRows& rows,
               std::vector<ScalerTarget> targets, SimdLevel level)
    : filter_(filter),
      passes_(filter_rows(level)),
      rows_(rows),
      targets_(std::move(targets)),
      channels_(rows.stored_channels == 1 || targets_.size() == 1 ? 1 : 3),
      adapted_(filter.down.first) {
  const FilterWindows& across = filter.across.windows;
  const std::size_t samples = filter.across.samples;
  ring_.height = static_cast<std::uint32_t>(filter.down.windows.weights_each + rows.rows_at_once);
  ring_.stride =
      rounded_up(std::size_t{rows.width} * rows.stored_channels + kRowSlack, kRingAlignment);
  ring_.bytes.resize(ring_.stride * ring_.height);
  columns_.resize(samples * channels_ + across.weights_each + kRowSlack);
  if (channels_ > 1) channel_.resize(samples + across.weights_each + kRowSlack);
  if (targets_[0].sample > 1) line_.resize(across.begin.size());
  window_.resize(filter.down.windows.weights_each);
}

std::uint64_t Scaler::memory_of_plane(const FilterAxis& across, const FilterAxis& down,
                                      std::uint32_t rows_at_once, std::uint32_t padding) {
  const std::uint64_t samples = across.source_samples;
  return scaler_bytes(across, down, rows_at_once, rounded_up(samples + kRowSlack, kRingAlignment),
                      samples + window_samples(across) + kRowSlack) +
         Plane::size_of(across.outputs, down.outputs, padding);
}

std::uint64_t Scaler::memory_of_rows(const FilterAxis& across, const FilterAxis& down,
                                     std::uint32_t rows_at_once, std::uint32_t width) {
  return scaler_bytes(across, down, rows_at_once, width * kMostStoredChannels + kRowSlack,
                      across.source_samples * kMostStoredChannels +
                          2 * (window_samples(across) + kRowSlack)) +
         across.outputs;
}

void Scaler::take_rows(std::uint64_t end) {
  for (; adapted_ < end; ++adapted_) {
    if (rows_.stored_channels == 4) pack_cmyk_as_rgb(row(adapted_), rows_.width);
    if (rows_.stored_channels != 1 && channels_ == 1) pack_rgb_as_gray(row(adapted_), rows_.width);
  }
  const FilterWindows& down = filter_.down.windows;
  const std::size_t samples = filter_.across.samples * channels_;
  const auto outputs = static_cast<std::uint32_t>(down.begin.size());
  for (; done_ < outputs; ++done_) {
    const std::uint32_t output = filter_.down.is_upward ? outputs - 1 - done_ : done_;
    const std::uint64_t first = filter_.down.first + down.begin[output], count = down.count[output];
    if (first + count > end) return;
    for (std::uint64_t i = 0; i < count; ++i) window_[i] = row(first + i) + rows_.lead * channels_;
    passes_.down(window_.data(), down.weights.data() + output * down.weights_each, count, samples,
                 columns_.data());
    write_output(output);
  }
}

void Scaler::write_output(std::uint32_t output) {
  const FilterWindows& across = filter_.across.windows;
  const std::size_t width = across.begin.size();
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::int16_t* values = columns_.data();
    if (channels_ > 1) {
      for (std::size_t x = 0; x < filter_.across.samples; ++x) channel_[x] = columns_[3 * x + c];
      values = channel_.data();
    }
    // A gray source fills all colors.
    const std::span targets = std::span(targets_).subspan(c, channels_ == 1 ? targets_.size() : 1);
    const auto row_of = [output](const ScalerTarget& target) {
      return target.pixels + output * target.row;
    };
    std::uint8_t* const line = targets[0].sample == 1 ? row_of(targets[0]) : line_.data();
    passes_.across(values, across, line);
    for (const ScalerTarget& target : targets) {
      std::uint8_t* const row = row_of(target);
      if (row == line) continue;
      for (std::size_t x = 0; x < width; ++x) row[target.sample * x] = line[x];
    }
  }
}

}  // namespace shale
