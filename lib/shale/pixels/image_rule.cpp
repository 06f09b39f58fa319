#include "shale/pixels/image_rule.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

__extension__ typedef unsigned __int128 Product;

std::uint32_t capped_side(std::uint64_t side) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(side, 1, kMost));
}

struct Extent {
  std::uint32_t width, height;
};

Extent shorter_side_is(Extent from, std::uint32_t side) {
  if (from.width <= from.height) {
    return {side, capped_side(scaled_side(from.height, from.width, side))};
  }
  return {capped_side(scaled_side(from.width, from.height, side)), side};
}

// Pillow's Image.thumbnail(): of the two whole numbers around the exact width the one with
// n / height closer to the proportions, of the two around the exact height the one with width / n
// closer to them; of two equally close ones the smaller.
Extent fitted(Extent from, std::uint32_t box_width, std::uint32_t box_height) {
  const std::uint64_t w = from.width, h = from.height, x = box_width, y = box_height;
  if (x * h >= y * w) {  // the height is the narrower bound
    const std::uint64_t floor = y * w / h, rest = y * w % h;
    return {capped_side(floor + (2 * rest > h ? 1 : 0)), box_height};
  }
  const std::uint64_t floor = x * h / w, rest = x * h % w;
  if (floor == 0 || rest == 0) return {box_width, capped_side(floor)};
  const std::uint64_t ceiling = floor + 1;
  const Product below = Product{x * h - w * floor} * ceiling,
                above = Product{w * ceiling - x * h} * floor;
  return {box_width, capped_side(below <= above ? floor : ceiling)};
}

bool is_larger(Extent from, const ImageRule& rule) {
  switch (rule.resize) {
    case Resize::shorter:
      return std::min(from.width, from.height) > rule.width;
    case Resize::longer:
      return std::max(from.width, from.height) > rule.width;
    default:
      return from.width > rule.width || from.height > rule.height;
  }
}

Extent scaled(Extent from, const ImageRule& rule) {
  if (rule.only_larger && !is_larger(from, rule)) return from;
  switch (rule.resize) {
    case Resize::shorter:
      return shorter_side_is(from, rule.width);
    case Resize::longer:
      return fitted(from, rule.width, rule.width);
    case Resize::fit:
      return fitted(from, rule.width, rule.height);
    case Resize::exact:
      return {rule.width, rule.height};
    case Resize::none:
      break;
  }
  return from;
}

// torchvision: int(round(space / 2.0)), and Python rounds halves to even.
std::uint32_t half_of(std::uint32_t space) {
  const std::uint32_t half = space / 2;
  return space % 2 == 1 && half % 2 == 1 ? half + 1 : half;
}

void check_side(std::uint32_t side, std::string_view what) {
  if (side >= 1 && side <= kLargestSide) return;
  throw Error(Code::usage, "{} of {} pixels: a side has 1 to {}", what, side, kLargestSide);
}

}  // namespace

std::uint64_t scaled_side(std::uint64_t side, std::uint64_t other_from, std::uint64_t other_to) {
  const auto scaled_up = static_cast<std::uint64_t>(Product{side} * other_to / other_from);
  return std::max<std::uint64_t>(scaled_up, 1);
}

ImageGeometry plan_geometry(std::uint32_t width, std::uint32_t height, unsigned orientation,
                            const ImageRule& rule) {
  ImageGeometry plan;
  plan.turn = rule.apply_rotation ? orientation : 1;
  Extent extent{width, height};
  if (plan.turn >= 5) std::swap(extent.width, extent.height);
  plan.source_width = extent.width;
  plan.source_height = extent.height;
  extent = scaled(extent, rule);
  plan.scaled_width = plan.width = extent.width;
  plan.scaled_height = plan.height = extent.height;
  if (rule.crop_width == 0) return plan;
  if (rule.crop_width > extent.width || rule.crop_height > extent.height) {
    plan.width = plan.height = 0;
    return plan;
  }
  plan.width = rule.crop_width;
  plan.height = rule.crop_height;
  plan.crop_x = half_of(extent.width - rule.crop_width);
  plan.crop_y = half_of(extent.height - rule.crop_height);
  return plan;
}

void check_rule(const ImageRule& rule) {
  if (rule.resize != Resize::none) check_side(rule.width, "a resize to a side");
  if (rule.resize == Resize::fit || rule.resize == Resize::exact) {
    check_side(rule.height, "a resize to a side");
  }
  if (rule.crop_width != 0 || rule.crop_height != 0) {
    check_side(rule.crop_width, "a crop to a side");
    check_side(rule.crop_height, "a crop to a side");
  }
  if (rule.quality < 1 || rule.quality > 100) {
    throw Error(Code::usage, "JPEG quality of {}: it is 1 to 100", rule.quality);
  }
  if (rule.is_mask && rule.encode == EncodeAs::jpeg) {
    throw Error(Code::usage, "a mask cannot be encoded as JPEG, which changes its values")
        .hint("encode masks as png");
  }
}

}  // namespace shale
