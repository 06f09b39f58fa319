#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <variant>

#include "shale/pixels/image_view.hpp"

namespace shale {

// The steps of a training transform that say which part of an image is wanted, and how large:
// torchvision's by name, with its formulas (torchvision 0.29, transforms and transforms.v2).

struct RandomResizedCrop {
  std::uint32_t width = 0, height = 0;
  double scale_low = 0.08, scale_high = 1;         ///< of the image's area
  double ratio_low = 3. / 4, ratio_high = 4. / 3;  ///< width by height
};

/// Shorter side = `shorter`, but the longer one at most `longest` (0: any). `shorter` 0: longer
/// side = `longest`.
struct ResizeShorter {
  std::uint32_t shorter = 0, longest = 0;
};

struct ResizeExactly {
  std::uint32_t width = 0, height = 0;
};

/// An image that is smaller is padded.
struct CenterCrop {
  std::uint32_t width = 0, height = 0;
};

struct RandomCrop {
  std::uint32_t width = 0, height = 0;
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;  ///< padding before the crop
  bool pads_if_needed = false;
};

struct RandomFlip {
  bool is_horizontal = true;
  double probability = 0.5;
};

using ViewStep = std::variant<RandomResizedCrop, ResizeShorter, ResizeExactly, CenterCrop,
                              RandomCrop, RandomFlip>;

/// A rectangle that may reach beyond an image.
struct ViewWindow {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};

/// What the steps make of one image: `box` is scaled, then `window` cut out of it, then turned
/// over. What of the window is not in `visible` is padding.
struct DrawnView {
  PixelBox box;                                       ///< of the image as it is stored
  std::uint32_t scaled_width = 0, scaled_height = 0;  ///< of the box; its own size: not scaled
  ViewWindow window, visible;                         ///< in the scaled box; visible: within both
  bool is_mirrored = false, is_upside_down = false;
};

/// How many of the steps, from the first on, draw_view() can take together: one that scales must
/// not follow another, or a crop that may pad.
[[nodiscard]] std::size_t viewable_steps(std::span<const ViewStep> steps);

/// Draws what is random: a pure function of the arguments.
/// `steps`: viewable_steps() of them; sizes are not 0. Errors: Code::bad_content for a random crop
/// that is larger than the padded image; Code::bug for an image without pixels and for more steps.
[[nodiscard]] DrawnView draw_view(std::span<const ViewStep> steps, std::uint32_t image_width,
                                  std::uint32_t image_height, std::uint64_t seed);

}  // namespace shale
