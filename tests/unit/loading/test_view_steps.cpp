#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/loading/view_steps.hpp"

namespace shale {
namespace {

// An image whose pixels are all different; 0 is padding.
struct Numbered {
  Numbered(std::int64_t image_width, std::int64_t image_height)
      : width(image_width),
        height(image_height),
        pixels(static_cast<std::size_t>(image_width * image_height)) {}

  [[nodiscard]] int at(std::int64_t x, std::int64_t y) const {
    if (x < 0 || y < 0 || x >= width || y >= height) return 0;
    return pixels[static_cast<std::size_t>(y * width + x)];
  }

  template <typename Pixel>
  [[nodiscard]] static Numbered made_of(std::int64_t width, std::int64_t height, Pixel pixel) {
    Numbered made(width, height);
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x)
        made.pixels[static_cast<std::size_t>(y * width + x)] = pixel(x, y);
    }
    return made;
  }

  // torchvision's words, on an array.
  [[nodiscard]] Numbered padded(std::int64_t left, std::int64_t top, std::int64_t right,
                                std::int64_t bottom) const {
    return made_of(left + width + right, top + height + bottom,
                   [&](std::int64_t x, std::int64_t y) { return at(x - left, y - top); });
  }
  [[nodiscard]] Numbered cropped(std::int64_t x0, std::int64_t y0, std::int64_t w,
                                 std::int64_t h) const {
    return made_of(w, h, [&](std::int64_t x, std::int64_t y) { return at(x0 + x, y0 + y); });
  }
  [[nodiscard]] Numbered flipped(bool is_horizontal) const {
    return made_of(width, height, [&](std::int64_t x, std::int64_t y) {
      return is_horizontal ? at(width - 1 - x, y) : at(x, height - 1 - y);
    });
  }
  [[nodiscard]] Numbered centered(std::int64_t w, std::int64_t h) const {
    const std::int64_t lack_w = std::max<std::int64_t>(0, w - width);
    const std::int64_t lack_h = std::max<std::int64_t>(0, h - height);
    const Numbered large = padded(lack_w / 2, lack_h / 2, (lack_w + 1) / 2, (lack_h + 1) / 2);
    const auto round_half_to_even = [](std::int64_t twice) {
      return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(twice) / 2));
    };
    return large.cropped(round_half_to_even(large.width - w), round_half_to_even(large.height - h),
                         w, h);
  }

  std::int64_t width, height;
  std::vector<int> pixels;
};

Numbered numbered(std::int64_t width, std::int64_t height) {
  return Numbered::made_of(width, height, [&](std::int64_t x, std::int64_t y) {
    return static_cast<int>(y * width + x + 1);
  });
}

// What a view without scaling makes of an image.
Numbered seen_by(const DrawnView& view, const Numbered& image) {
  const ViewWindow& window = view.window;
  const Numbered box = image.cropped(view.box.x, view.box.y, view.box.width, view.box.height);
  return Numbered::made_of(window.width, window.height, [&](std::int64_t i, std::int64_t j) {
    const std::int64_t x = window.x + (view.is_mirrored ? window.width - 1 - i : i);
    const std::int64_t y = window.y + (view.is_upside_down ? window.height - 1 - j : j);
    const ViewWindow& seen = view.visible;
    const bool is_seen =
        x >= seen.x && x < seen.x + seen.width && y >= seen.y && y < seen.y + seen.height;
    return is_seen ? box.at(x, y) : 0;
  });
}

std::uint32_t some(std::mt19937& dice, std::uint32_t least, std::uint32_t most) {
  return std::uniform_int_distribution<std::uint32_t>(least, most)(dice);
}

}  // namespace

TEST_CASE("view steps: crops, padding and flips in any order are those of an array") {
  std::mt19937 dice(11);
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t width = some(dice, 1, 9), height = some(dice, 1, 9);
    const Numbered image = numbered(width, height);
    Numbered expected = image;
    std::vector<ViewStep> steps;
    for (std::uint32_t count = some(dice, 0, 5); count > 0; --count) {
      const std::uint32_t w = some(dice, 1, 12), h = some(dice, 1, 12);
      switch (some(dice, 0, 2)) {
        case 0:
          steps.emplace_back(CenterCrop{.width = w, .height = h});
          expected = expected.centered(w, h);
          break;
        case 1: {
          const bool is_horizontal = some(dice, 0, 1) == 1;
          const double probability = some(dice, 0, 1);
          steps.emplace_back(
              RandomFlip{.is_horizontal = is_horizontal, .probability = probability});
          if (probability > 0) expected = expected.flipped(is_horizontal);
          break;
        }
        default: {  // as large as what is padded: one place only
          RandomCrop step{.left = some(dice, 0, 3), .top = some(dice, 0, 3)};
          step.right = some(dice, 0, 3);
          step.bottom = some(dice, 0, 3);
          expected = expected.padded(step.left, step.top, step.right, step.bottom);
          step.width = static_cast<std::uint32_t>(expected.width);
          step.height = static_cast<std::uint32_t>(expected.height);
          steps.emplace_back(step);
        }
      }
    }
    const DrawnView view = draw_view(steps, width, height, 1);
    const Numbered seen = seen_by(view, image);
    REQUIRE(seen.width == expected.width);
    REQUIRE(seen.height == expected.height);
    REQUIRE(seen.pixels == expected.pixels);
  }
}

TEST_CASE("view steps: random crops are drawn evenly, padding included") {
  const Numbered image = numbered(5, 4);
  const RandomCrop step{.width = 3, .height = 4, .left = 1, .right = 2, .bottom = 1};
  const Numbered padded = image.padded(1, 0, 2, 1);
  std::array<int, 12> drawn{};  // 6 places across, 2 down
  for (std::uint64_t seed = 0; seed < 12000; ++seed) {
    const DrawnView view = draw_view(std::array<ViewStep, 1>{step}, 5, 4, seed);
    const auto x = static_cast<std::size_t>(view.window.x + 1);
    const auto y = static_cast<std::size_t>(view.window.y);
    REQUIRE(x < 6);
    REQUIRE(y < 2);
    ++drawn.at(y * 6 + x);
    REQUIRE(
        seen_by(view, image).pixels ==
        padded.cropped(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y), 3, 4).pixels);
  }
  for (const int count : drawn) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("view steps: a crop that is too large is padded on both sides, or an error") {
  RandomCrop step{.width = 8, .height = 2};
  CHECK_THROWS_WITH_AS((void)draw_view(std::array<ViewStep, 1>{step}, 5, 4, 0),
                       "a crop of 8 x 2 of an image of 5 x 4", const Error&);
  step.pads_if_needed = true;  // 3 on each side: x is -3 to 0
  std::int64_t least = 0, most = -9;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const DrawnView view = draw_view(std::array<ViewStep, 1>{step}, 5, 4, seed);
    least = std::min(least, view.window.x);
    most = std::max(most, view.window.x);
  }
  CHECK(least == -3);
  CHECK(most == 0);
}

TEST_CASE("view steps: sizes are torchvision's") {
  struct Case {
    std::uint32_t width, height;
    ResizeShorter step;
    std::uint32_t scaled_width, scaled_height;
  };
  const std::array<Case, 8> cases = {{
      {500, 375, {.shorter = 256}, 341, 256},  // int(256 * 500 / 375)
      {375, 500, {.shorter = 256}, 256, 341},
      {64, 64, {.shorter = 256}, 256, 256},
      {1000, 100, {.shorter = 256, .longest = 512}, 512, 51},  // int(512 * 256 / 2560)
      {100, 1000, {.shorter = 256, .longest = 512}, 51, 512},
      {500, 375, {.longest = 100}, 100, 75},
      {3, 1000, {.shorter = 2}, 2, 666},
      {1, 100000, {.shorter = 8, .longest = 10}, 1, 10},
  }};
  for (const Case& one : cases) {
    const DrawnView view = draw_view(std::array<ViewStep, 1>{one.step}, one.width, one.height, 0);
    CHECK(view.scaled_width == one.scaled_width);
    CHECK(view.scaled_height == one.scaled_height);
    CHECK(view.window.width == one.scaled_width);
    CHECK(view.box.width == one.width);
  }
  const std::array<ViewStep, 2> steps = {ResizeShorter{.shorter = 256},
                                         CenterCrop{.width = 224, .height = 224}};
  const DrawnView view = draw_view(steps, 500, 375, 0);
  CHECK(view.scaled_width == 341);
  CHECK(view.window.x == 58);  // round(58.5)
  CHECK(view.window.y == 16);
}

TEST_CASE("view steps: random boxes have the areas and ratios that were asked for") {
  const std::array<ViewStep, 2> steps = {RandomResizedCrop{.width = 224, .height = 192},
                                         RandomFlip{}};
  double area = 0, log_ratio = 0, left = 0, right = 0;
  int mirrored = 0;
  constexpr int kRounds = 20000;
  for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
    const DrawnView view = draw_view(steps, 2000, 2000, seed);
    const PixelBox& box = view.box;
    REQUIRE(box.x + box.width <= 2000);
    REQUIRE(box.y + box.height <= 2000);
    const double share = static_cast<double>(box.width) * box.height / (2000. * 2000);
    const double ratio = static_cast<double>(box.width) / box.height;
    REQUIRE(share > 0.079);
    REQUIRE(share <= 1);
    REQUIRE(ratio > 0.74);
    REQUIRE(ratio < 1.34);
    area += share;
    log_ratio += std::log(ratio);
    left += box.x;
    right += 2000 - box.x - box.width;
    mirrored += view.is_mirrored ? 1 : 0;
    CHECK(view.scaled_width == 224);
    CHECK(view.scaled_height == 192);
  }
  // A box of ratio r fits if its share is at most min(r, 1 / r) = c, else it is drawn again: the
  // mean is E(c^2 - 0.08^2) / 2 / E(c - 0.08), and c's mean is 0.869, that of its square 0.7603.
  CHECK(std::abs(area / kRounds - 0.4778) < 0.006);
  CHECK(std::abs(log_ratio / kRounds) < 0.01);
  CHECK(std::abs(left - right) / kRounds < 10);
  CHECK(std::abs(mirrored - kRounds / 2) < 400);
}

TEST_CASE("view steps: images whose ratio is out of reach give the largest box in the middle") {
  const std::array<ViewStep, 1> steps = {
      RandomResizedCrop{.width = 8, .height = 8, .scale_low = 0.99, .scale_high = 1}};
  const PixelBox wide = draw_view(steps, 401, 100, 3).box;
  CHECK(wide.width == 133);
  CHECK(wide.height == 100);
  CHECK(wide.x == 134);
  const PixelBox tall = draw_view(steps, 100, 401, 3).box;
  CHECK(tall.width == 100);
  CHECK(tall.height == 133);
  CHECK(tall.y == 134);
  const PixelBox thin = draw_view(steps, 1, 4000, 3).box;
  CHECK(thin.width == 1);
  CHECK(thin.height == 1);
  CHECK(draw_view(steps, 1, 1, 3).box.width == 1);
}

TEST_CASE("view steps: a seed is one view, another seed another") {
  const std::array<ViewStep, 1> steps = {RandomResizedCrop{.width = 8, .height = 8}};
  const PixelBox first = draw_view(steps, 500, 400, 7).box,
                 again = draw_view(steps, 500, 400, 7).box,
                 other = draw_view(steps, 500, 400, 8).box;
  CHECK(first.x == again.x);
  CHECK(first.width == again.width);
  CHECK((first.x != other.x || first.width != other.width));
}

TEST_CASE("view steps: nothing is scaled twice, nor after a crop that may pad") {
  const ViewStep resized = ResizeShorter{.shorter = 8}, boxed = RandomResizedCrop{},
                 crop = CenterCrop{}, flip = RandomFlip{};
  CHECK(viewable_steps(std::array{resized, crop, flip, crop}) == 4);
  CHECK(viewable_steps(std::array{flip, boxed, flip}) == 3);
  CHECK(viewable_steps(std::array{resized, boxed}) == 1);
  CHECK(viewable_steps(std::array{crop, flip, resized}) == 2);
  CHECK(viewable_steps({}) == 0);
  CHECK_THROWS_AS((void)draw_view(std::array{crop, resized}, 5, 5, 0), const Error&);
}

}  // namespace shale
