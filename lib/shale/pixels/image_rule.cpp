#include "shale/pixels/image_rule.hpp"

#include <string_view>

#include "shale/base/error.hpp"

namespace shale {
namespace {

void check_side(std::uint32_t side, std::string_view what) {
  if (side >= 1 && side <= kLargestSide) return;
  throw Error(Code::usage, "{} of {} pixels: a side has 1 to {}", what, side, kLargestSide);
}

}  // namespace

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
