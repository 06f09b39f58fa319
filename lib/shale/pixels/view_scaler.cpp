#include "shale/pixels/view_scaler.hpp"

#include <algorithm>

#include "shale/image/codecs.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostStoredChannels = 4;

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

ViewWindows::ViewWindows(const FilterAxis& axis)
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

ViewScaler::ViewScaler(const ViewFilter& filter, const ViewRows& rows, const ViewTarget& target,
                       SimdLevel level)
    : filter_(filter),
      passes_(filter_rows(level)),
      rows_(rows),
      target_(target),
      channels_(rows.stored_channels == 1 || target.channels == 1 ? 1 : 3) {
  const FilterWindows& across = filter.across.windows;
  const std::size_t samples = filter.across.samples;
  ring_.height = static_cast<std::uint32_t>(filter.down.windows.weights_each + kRowsAtOnce);
  ring_.stride = std::size_t{rows.width} * rows.stored_channels + kRowSlack;
  ring_.bytes.resize(ring_.stride * ring_.height);
  columns_.resize(samples * channels_ + across.weights_each + kRowSlack);
  if (channels_ > 1) channel_.resize(samples + across.weights_each + kRowSlack);
  line_.resize(across.begin.size());
  window_.resize(filter.down.windows.weights_each);
}

std::uint64_t ViewScaler::memory_of(const FilterAxis& across, const FilterAxis& down,
                                    std::uint32_t width) {
  const std::uint64_t columns =
      across.source_samples * kMostStoredChannels + 2 * (window_samples(across) + kRowSlack);
  return window_bytes(across) + window_bytes(down) +
         (window_samples(down) + kRowsAtOnce) * (width * kMostStoredChannels + kRowSlack) +
         columns * sizeof(std::int16_t) + across.outputs + window_samples(down) * sizeof(void*);
}

void ViewScaler::take_rows(std::uint64_t end) {
  for (; adapted_ < end; ++adapted_) {
    if (rows_.stored_channels == 4) pack_cmyk_as_rgb(row(adapted_), rows_.width);
    if (rows_.stored_channels != 1 && channels_ == 1) pack_rgb_as_gray(row(adapted_), rows_.width);
  }
  const FilterWindows& down = filter_.down.windows;
  const std::size_t samples = filter_.across.samples * channels_;
  const auto outputs = static_cast<std::uint32_t>(down.begin.size());
  for (; done_ < outputs; ++done_) {
    const std::uint32_t output = filter_.down.is_upward ? outputs - 1 - done_ : done_;
    const std::uint64_t first = down.begin[output], count = down.count[output];
    if (first + count > end) return;
    for (std::uint64_t i = 0; i < count; ++i) window_[i] = row(first + i) + rows_.lead * channels_;
    passes_.down(window_.data(), down.weights.data() + output * down.weights_each, count, samples,
                 columns_.data());
    write_output(output);
  }
}

void ViewScaler::write_output(std::uint32_t output) {
  const FilterWindows& across = filter_.across.windows;
  const std::size_t width = across.begin.size(), colors = target_.channels;
  const std::size_t plane = width * filter_.down.windows.begin.size();
  auto* const pixels = reinterpret_cast<std::uint8_t*>(target_.into.data());
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::int16_t* values = columns_.data();
    if (channels_ > 1) {
      for (std::size_t x = 0; x < filter_.across.samples; ++x) channel_[x] = columns_[3 * x + c];
      values = channel_.data();
    }
    passes_.across(values, across, line_.data());
    // A gray source fills all colors.
    const std::size_t last = channels_ == 1 ? colors : c + 1;
    for (std::size_t color = c; color < last; ++color) {
      if (target_.order == PixelOrder::chw) {
        std::copy_n(line_.data(), width, pixels + color * plane + output * width);
        continue;
      }
      std::uint8_t* const row = pixels + output * width * colors + color;
      for (std::size_t x = 0; x < width; ++x) row[colors * x] = line_[x];
    }
  }
}

}  // namespace shale
