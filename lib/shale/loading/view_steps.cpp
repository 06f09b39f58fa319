//  A view is followed in the coordinates of the scaled box before it is turned over. `window` is
//  what there is so far. A crop at x of a window that is mirrored lies as far from its other side.

#include "shale/loading/view_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "shale/base/error.hpp"
#include "shale/flow/random_words.hpp"

namespace shale {
namespace {

__extension__ typedef unsigned __int128 WideWord;

class ViewDrawing {
 public:
  ViewDrawing(std::uint32_t width, std::uint32_t height, std::uint64_t seed) : words_(seed) {
    scale_to({.width = width, .height = height}, width, height);
  }

  void operator()(const RandomResizedCrop& step) {
    const PixelBox box = random_box(step);
    scale_to(box, step.width, step.height);
  }

  void operator()(const ResizeShorter& step) {
    const PixelBox& box = view_.box;
    const std::uint64_t least = std::min(box.width, box.height);
    const std::uint64_t most = std::max(box.width, box.height);
    std::uint64_t shorter = step.shorter, longer = shorter * most / least;
    if (step.longest > 0 && (shorter == 0 || longer > step.longest)) {
      shorter = shorter == 0 ? step.longest * least / most : step.longest * shorter / longer;
      longer = step.longest;
    }
    const auto short_side = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, shorter));
    const auto long_side = static_cast<std::uint32_t>(std::min<std::uint64_t>(longer, UINT32_MAX));
    const bool is_upright = box.width <= box.height;
    scale_to(box, is_upright ? short_side : long_side, is_upright ? long_side : short_side);
  }

  void operator()(const ResizeExactly& step) { scale_to(view_.box, step.width, step.height); }

  void operator()(const CenterCrop& step) {
    crop(center_of(view_.window.width, step.width), center_of(view_.window.height, step.height),
         step.width, step.height);
  }

  void operator()(const RandomCrop& step) {
    std::int64_t left = step.left, top = step.top;
    std::int64_t width = view_.window.width + left + step.right;
    std::int64_t height = view_.window.height + top + step.bottom;
    if (step.pads_if_needed && width < step.width) {
      left += step.width - width;
      width += 2 * (step.width - width);
    }
    if (step.pads_if_needed && height < step.height) {
      top += step.height - height;
      height += 2 * (step.height - height);
    }
    if (width < step.width || height < step.height) {
      throw Error(Code::bad_content, "a crop of {} x {} of an image of {} x {}", step.width,
                  step.height, width, height)
          .hint("resize the images first, or use RandomCrop(..., pad_if_needed=True)");
    }
    const auto y = static_cast<std::int64_t>(below(height - step.height + 1));
    const auto x = static_cast<std::int64_t>(below(width - step.width + 1));
    crop(x - left, y - top, step.width, step.height);
  }

  void operator()(const RandomFlip& step) {
    if (fraction() >= step.probability) return;
    bool& is_turned = step.is_horizontal ? view_.is_mirrored : view_.is_upside_down;
    is_turned = !is_turned;
  }

  [[nodiscard]] const DrawnView& view() const { return view_; }

 private:
  void scale_to(const PixelBox& box, std::uint32_t width, std::uint32_t height) {
    view_.box = box;
    view_.scaled_width = width;
    view_.scaled_height = height;
    view_.window = view_.visible = {.x = 0, .y = 0, .width = width, .height = height};
  }

  // As the program that wrote the transform sees the window: turned over.
  void crop(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height) {
    ViewWindow& window = view_.window;
    window.x += view_.is_mirrored ? window.width - x - width : x;
    window.y += view_.is_upside_down ? window.height - y - height : y;
    window.width = width;
    window.height = height;
    ViewWindow& seen = view_.visible;
    const std::int64_t right = std::min(seen.x + seen.width, window.x + width);
    const std::int64_t bottom = std::min(seen.y + seen.height, window.y + height);
    seen.x = std::max(seen.x, window.x);
    seen.y = std::max(seen.y, window.y);
    seen.width = std::max<std::int64_t>(0, right - seen.x);
    seen.height = std::max<std::int64_t>(0, bottom - seen.y);
  }

  // Half of what is too much, to even: Python's round(). Half of what lacks, rounded down.
  static std::int64_t center_of(std::int64_t length, std::int64_t wanted) {
    const std::int64_t excess = length - wanted;
    if (excess < 0) return -(-excess / 2);
    const std::int64_t half = excess / 2;
    return excess % 2 == 1 && half % 2 == 1 ? half + 1 : half;
  }

  // The window is the whole image, turned over or not: nothing was cropped before.
  PixelBox random_box(const RandomResizedCrop& step) {
    const auto width = static_cast<double>(view_.window.width);
    const auto height = static_cast<double>(view_.window.height);
    const double low = std::log(step.ratio_low), high = std::log(step.ratio_high);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double area = width * height * between(step.scale_low, step.scale_high);
      const double ratio = std::exp(between(low, high));
      const double box_width = std::nearbyint(std::sqrt(area * ratio));
      const double box_height = std::nearbyint(std::sqrt(area / ratio));
      if (box_width < 1 || box_width > width || box_height < 1 || box_height > height) continue;
      const std::uint64_t y = below(static_cast<std::int64_t>(height - box_height) + 1);
      const std::uint64_t x = below(static_cast<std::int64_t>(width - box_width) + 1);
      return turned({.x = static_cast<std::uint32_t>(x),
                     .y = static_cast<std::uint32_t>(y),
                     .width = static_cast<std::uint32_t>(box_width),
                     .height = static_cast<std::uint32_t>(box_height)});
    }
    return turned(fallback_box(step, width, height));
  }

  // The largest box in the middle whose ratio is allowed.
  static PixelBox fallback_box(const RandomResizedCrop& step, double width, double height) {
    double box_width = width, box_height = height;
    if (width / height < step.ratio_low) {
      box_height = std::clamp(std::nearbyint(width / step.ratio_low), 1., height);
    } else if (width / height > step.ratio_high) {
      box_width = std::clamp(std::nearbyint(height * step.ratio_high), 1., width);
    }
    const auto middle = [](double length, double wanted) {
      return static_cast<std::uint32_t>(std::floor((length - wanted) / 2));
    };
    return {.x = middle(width, box_width),
            .y = middle(height, box_height),
            .width = static_cast<std::uint32_t>(box_width),
            .height = static_cast<std::uint32_t>(box_height)};
  }

  [[nodiscard]] PixelBox turned(PixelBox box) const {
    if (view_.is_mirrored) box.x = view_.box.width - box.x - box.width;
    if (view_.is_upside_down) box.y = view_.box.height - box.y - box.height;
    return box;
  }

  // In [0, 1).
  double fraction() {
    constexpr double kUnit = 1. / (std::uint64_t{1} << 53);
    return static_cast<double>(words_.next() >> 11) * kUnit;
  }
  double between(double low, double high) { return low + (high - low) * fraction(); }
  std::uint64_t below(std::int64_t count) {
    return static_cast<std::uint64_t>(WideWord{words_.next()} * static_cast<std::uint64_t>(count) >>
                                      64);
  }

  RandomWords words_;
  DrawnView view_;
};

template <typename... Steps>
bool is_one_of(const ViewStep& step) {
  return (std::holds_alternative<Steps>(step) || ...);
}

}  // namespace

std::size_t viewable_steps(std::span<const ViewStep> steps) {
  bool can_scale = true;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool scales = is_one_of<RandomResizedCrop, ResizeShorter, ResizeExactly>(steps[i]);
    if (scales && !can_scale) return i;
    if (!is_one_of<RandomFlip>(steps[i])) can_scale = false;
  }
  return steps.size();
}

DrawnView draw_view(std::span<const ViewStep> steps, std::uint32_t image_width,
                    std::uint32_t image_height, std::uint64_t seed) {
  if (image_width == 0 || image_height == 0 || viewable_steps(steps) < steps.size())
    throw Error(Code::bug, "no view of {} x {} pixels", image_width, image_height);
  ViewDrawing drawing(image_width, image_height, seed);
  for (const ViewStep& step : steps) std::visit(drawing, step);
  return drawing.view();
}

}  // namespace shale
