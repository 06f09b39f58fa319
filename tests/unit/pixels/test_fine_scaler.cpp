#include <cmath>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/pixels/fine_scaler.hpp"

namespace shale::test {
namespace {

void put(Picture& picture, std::size_t i, unsigned sample) {
  if (picture.bits <= 8) {
    picture.samples[i] = static_cast<std::uint8_t>(sample);
    return;
  }
  picture.samples[2 * i] = static_cast<std::uint8_t>(sample);
  picture.samples[2 * i + 1] = static_cast<std::uint8_t>(sample >> 8);
}
unsigned at(const Picture& picture, std::size_t i) {
  if (picture.bits <= 8) return picture.samples[i];
  return picture.samples[2 * i] | static_cast<unsigned>(picture.samples[2 * i + 1]) << 8;
}

// Steep slopes and all values, another one in each channel.
Picture slopes(std::uint32_t width, std::uint32_t height, unsigned channels, unsigned bits) {
  Picture picture = blank_picture(width, height, channels, bits);
  for (std::size_t i = 0; i < std::size_t{width} * height * channels; ++i)
    put(picture, i, static_cast<unsigned>(i * i * 40503 % (std::size_t{1} << bits)));
  return picture;
}

double kernel(double t) {
  t = std::abs(t);
  if (t <= 1) return (16 * t * t * t - 28 * t * t + 12) / 12;
  if (t <= 2) return (-7 * t * t * t + 36 * t * t - 59 * t + 30) / 12;
  return t < 3 ? (t * t * t - 8 * t * t + 21 * t - 18) / 12 : 0;
}

// One row of weights: of every sample of `from` in output `i` of `to`.
std::vector<double> weights_of(std::uint32_t from, std::uint32_t to, std::uint32_t i) {
  const double scale = static_cast<double>(from) / to, stretch = std::max(scale, 1.0);
  std::vector<double> weights(from);
  double sum = 0;
  for (std::uint32_t x = 0; x < from; ++x)
    sum += weights[x] = kernel((x + 0.5 - (i + 0.5) * scale) / stretch);
  for (double& weight : weights) weight /= sum;
  return weights;
}

// The weighted sum of a channel; `alpha`: each sample times that channel's.
double sum_of(const Picture& from, const std::vector<double>& down,
              const std::vector<double>& across, std::size_t channel, std::size_t alpha) {
  double sum = 0;
  for (std::size_t y = 0; y < down.size(); ++y) {
    for (std::size_t x = 0; x < across.size(); ++x) {
      const std::size_t pixel = (y * from.width + x) * from.channels;
      const double weight = alpha == channel ? 1 : at(from, pixel + alpha);
      sum += down[y] * across[x] * weight * at(from, pixel + channel);
    }
  }
  return sum;
}

ImageGeometry resized(const Picture& from, std::uint32_t width, std::uint32_t height) {
  return plan_geometry(from.width, from.height, 1,
                       {.resize = Resize::exact, .width = width, .height = height});
}

}  // namespace

TEST_CASE("fine scaler: every sample is within one level of double precision") {
  for (const auto& sides : {std::pair{31U, 23U}, {7U, 90U}, {200U, 5U}}) {
    for (const unsigned channels : {1U, 2U, 3U, 4U}) {
      CAPTURE(sides.first);
      CAPTURE(channels);
      const Picture from = slopes(64, 48, channels, 16);
      const bool has_alpha = channels % 2 == 0;
      const unsigned colors = channels - (has_alpha ? 1 : 0);
      const Picture made = scale_finely(from, resized(from, sides.first, sides.second),
                                        {.colors = colors, .has_alpha = has_alpha, .bits = 16});
      REQUIRE(made.samples.size() == std::size_t{sides.first} * sides.second * channels * 2);
      double worst = 0;
      for (std::uint32_t y = 0; y < sides.second; ++y) {
        const std::vector<double> down = weights_of(48, sides.second, y);
        for (std::uint32_t x = 0; x < sides.first; x += 3) {
          const std::vector<double> across = weights_of(64, sides.first, x);
          const std::size_t pixel = (std::size_t{y} * sides.first + x) * channels;
          const double alpha = has_alpha ? sum_of(from, down, across, colors, colors) : 1;
          for (std::size_t c = 0; c < channels; ++c) {
            const bool is_weighed = has_alpha && c < colors;
            if (is_weighed && alpha < 2000) continue;  // hardly a color
            double wanted = sum_of(from, down, across, c, is_weighed ? colors : c);
            if (is_weighed) wanted /= alpha;
            wanted = std::min(std::max(wanted, 0.0), 65535.0);
            worst = std::max(worst, std::abs(wanted - at(made, pixel + c)));
          }
        }
      }
      CHECK(worst <= 1);
    }
  }
}

TEST_CASE("fine scaler: what is only turned and cropped keeps its values, under alpha 0 too") {
  Picture from = slopes(9, 7, 4, 8);
  from.samples[4 * 3 + 3] = 0;
  ImageGeometry geometry =
      plan_geometry(9, 7, 6, {.crop_width = 7, .crop_height = 9, .apply_rotation = true});
  const Picture made = scale_finely(from, geometry, {.colors = 3, .has_alpha = true, .bits = 8});
  // 6: (x', y') is the stored (y', H - 1 - x').
  for (std::size_t y = 0; y < 9; ++y) {
    for (std::size_t x = 0; x < 7; ++x) {
      for (std::size_t c = 0; c < 4; ++c)
        CHECK(at(made, (y * 7 + x) * 4 + c) == at(from, ((6 - x) * 9 + y) * 4 + c));
    }
  }
}

TEST_CASE("fine scaler: a color that cannot be seen does not bleed into what can") {
  Picture from = blank_picture(2, 1, 4, 8);
  from.samples = {255, 0, 0, 255, 0, 255, 0, 0};  // red, and green that is not there
  const Picture made = scale_finely(from, resized(from, 1, 1), {.has_alpha = true, .bits = 8});
  CHECK(made.samples == std::vector<std::uint8_t>{255, 0, 0, 128});
}

TEST_CASE("fine scaler: levels of any largest level become all of the bits, over white or not") {
  Picture from = blank_picture(1, 1, 2, 16);
  from.top_level = 4095;
  put(from, 0, 4095);
  put(from, 1, 0);
  const ImageGeometry same = resized(from, 1, 1);
  CHECK(at(scale_finely(from, same, {.colors = 1, .has_alpha = true, .bits = 16}), 0) == 65535);
  put(from, 0, 0);
  CHECK(at(scale_finely(from, same, {.colors = 1, .has_alpha = false, .bits = 16}), 0) == 65535);
  CHECK(at(scale_finely(from, same, {.colors = 1, .has_alpha = true, .bits = 8}), 0) == 0);
}

TEST_CASE("fine scaler: it takes no more memory than it says for a result of any size") {
  const Picture from = slopes(30, 20, 1, 16);
  CHECK(fine_scaler_bytes(resized(from, 300, 200), 30, 20, 4) >= 300 * 200 * 4 * 2);
}

}  // namespace shale::test
