//  Levels have 24 bits, weights too, and a column value keeps 8 of the weight's:
//    column value = (sum(level * weight) + 2^15) >> 16       below 2^24 * 1.7 * 2^8  < 2^33
//    sum          = sum(column value * weight)               below 2^33 * 1.7 * 2^24 < 2^58
//    sample       = sum / 2^(32 + 24 - bits), rounded and clipped
//  so sums of 64 bits hold them (filter_rows.cpp has where the 1.7 is from).

#include "shale/pixels/fine_scaler.hpp"

#include <algorithm>
#include <vector>

#include "shale/pixels/filter_windows.hpp"
#include "shale/pixels/scaled_frame.hpp"

namespace shale {
namespace {

constexpr unsigned kLevelBits = 24;
constexpr int kColumnShift = 16, kColumnBits = kFineWeightBits - kColumnShift;
constexpr int kSumBits = kColumnBits + kFineWeightBits;  // of the fraction of a level
constexpr std::uint64_t kMostShapeChannels = 4;

PlaneShape shape_of_stored(std::uint32_t width, std::uint32_t height) {
  PlaneShape shape;
  shape.width = width;
  shape.height = height;
  return shape;
}

// The rows of a picture as levels, as many as a window has. With `weighs`, colors are multiplied by
// their alpha.
class LevelRows {
 public:
  LevelRows(const Picture& picture, const FineShape& shape, bool weighs, std::size_t rows)
      : picture_(picture),
        shape_(shape),
        weighs_(weighs),
        values_(std::size_t{picture.width} * shape.channels()),
        held_(rows, picture.height),
        samples_(values_),
        levels_(values_ * rows) {}

  // Valid until another row of the same remainder is asked for.
  const std::uint32_t* row(std::uint32_t y) {
    std::uint32_t* const levels = levels_.data() + y % held_.size() * values_;
    if (held_[y % held_.size()] == y) return levels;
    held_[y % held_.size()] = y;
    fine_row(picture_, y, shape_, samples_.data());
    const unsigned up = kLevelBits - shape_.bits, top = shape_.top_level();
    const std::size_t channels = shape_.channels();
    for (std::size_t i = 0; i < values_; ++i) {
      levels[i] = static_cast<std::uint32_t>(samples_[i]) << up;
      if (!weighs_ || i % channels == channels - 1) continue;
      const std::uint64_t alpha = samples_[i - i % channels + channels - 1];
      levels[i] = static_cast<std::uint32_t>((levels[i] * alpha + top / 2) / top);
    }
    return levels;
  }

 private:
  const Picture& picture_;
  const FineShape& shape_;
  const bool weighs_;
  const std::size_t values_;
  std::vector<std::uint32_t> held_;  // which row is where; the height: none
  std::vector<std::uint16_t> samples_;
  std::vector<std::uint32_t> levels_;
};

// What the sums of one pixel are as samples.
void write_pixel(const std::int64_t* sums, const FineShape& shape, bool weighs,
                 std::uint8_t* into) {
  const int shift = kSumBits + static_cast<int>(kLevelBits - shape.bits);
  const std::int64_t half = std::int64_t{1} << (shift - 1), top = shape.top_level();
  const auto rounded = [&](std::int64_t sum) {
    return std::clamp<std::int64_t>((sum + half) >> shift, 0, top);
  };
  const std::int64_t alpha = shape.has_alpha ? rounded(sums[shape.colors]) : top;
  for (unsigned c = 0; c < shape.channels(); ++c) {
    std::int64_t sample = rounded(sums[c]);
    if (weighs && c < shape.colors) {
      constexpr int kLess = kSumBits - kColumnBits;  // so that a product fits
      const std::int64_t weight = sums[shape.colors] >> kLess;
      sample =
          alpha == 0 || weight <= 0
              ? 0
              : std::clamp<std::int64_t>(((sums[c] >> kLess) * top + weight / 2) / weight, 0, top);
    }
    *into++ = static_cast<std::uint8_t>(sample);
    if (shape.bits > 8) *into++ = static_cast<std::uint8_t>(sample >> 8);
  }
}

}  // namespace

Picture scale_finely(const Picture& from, const ImageGeometry& geometry, const FineShape& shape) {
  const PlaneShape stored = shape_of_stored(from.width, from.height);
  const FineWindows across = make_fine_windows(across_axis(geometry, stored));
  const FineWindows down = make_fine_windows(down_axis(geometry, stored));
  const std::size_t channels = shape.channels();
  const bool weighs = shape.has_alpha && geometry.is_resized(), is_turned = geometry.turn >= 5;
  Picture into = blank_picture(geometry.width, geometry.height, shape.channels(), shape.bits);
  LevelRows rows(from, shape, weighs, down.weights_each);
  // Columns outside of these are cropped off.
  std::size_t first = from.width, end = 0;
  for (std::size_t a = 0; a < across.begin.size(); ++a) {
    first = std::min<std::size_t>(first, across.begin[a]);
    end = std::max<std::size_t>(end, across.begin[a] + across.count[a]);
  }
  std::vector<std::int64_t> columns(std::size_t{from.width} * channels);
  for (std::uint32_t d = 0; d < down.begin.size(); ++d) {
    std::fill(columns.begin(), columns.end(), std::int64_t{1} << (kColumnShift - 1));
    for (std::uint32_t k = 0; k < down.count[d]; ++k) {
      const std::uint32_t* const levels = rows.row(down.begin[d] + k);
      const std::int64_t weight = down.weights[d * down.weights_each + k];
      for (std::size_t x = first * channels; x < end * channels; ++x)
        columns[x] += std::int64_t{levels[x]} * weight;
    }
    for (std::int64_t& column : columns) column >>= kColumnShift;
    for (std::uint32_t a = 0; a < across.begin.size(); ++a) {
      std::int64_t sums[kMostShapeChannels] = {};
      const std::int32_t* const weights = across.weights.data() + a * across.weights_each;
      const std::int64_t* column = columns.data() + across.begin[a] * channels;
      for (std::uint32_t k = 0; k < across.count[a]; ++k) {
        for (std::size_t c = 0; c < channels; ++c) sums[c] += *column++ * weights[k];
      }
      std::uint8_t* const row = into.row(is_turned ? a : d);
      write_pixel(sums, shape, weighs, row + (is_turned ? d : a) * into.pixel_bytes());
    }
  }
  return into;
}

std::uint64_t fine_scaler_bytes(const ImageGeometry& geometry, std::uint32_t stored_width,
                                std::uint32_t stored_height, unsigned channels) {
  const PlaneShape stored = shape_of_stored(stored_width, stored_height);
  const FilterAxis across = across_axis(geometry, stored), down = down_axis(geometry, stored);
  const std::uint64_t row_values = std::uint64_t{stored_width} * channels;
  const std::uint64_t result = std::uint64_t{geometry.width} * geometry.height * channels * 2;
  return 2 * (window_bytes(across) + window_bytes(down)) +
         row_values * (sizeof(std::int64_t) + sizeof(std::uint16_t)) +
         window_samples(down) * (row_values + 1) * sizeof(std::uint32_t) + result;
}

}  // namespace shale
