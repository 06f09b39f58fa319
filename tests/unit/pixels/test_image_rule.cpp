#include <doctest/doctest.h>

#include "shale/pixels/image_rule.hpp"

namespace shale::test {

TEST_CASE("image geometry: sizes are those of torchvision's Resize and Pillow's thumbnail") {
  struct Row {
    Resize resize;
    std::uint32_t a, b, width, height, to_width, to_height;
  };
  constexpr Row kRows[] = {
      {Resize::shorter, 256, 0, 500, 375, 341, 256},
      {Resize::shorter, 256, 0, 375, 500, 256, 341},
      {Resize::shorter, 256, 0, 1, 1000, 256, 256000},
      {Resize::longer, 512, 0, 500, 375, 512, 384},
      {Resize::longer, 100, 0, 333, 1000, 33, 100},
      {Resize::fit, 100, 100, 1000, 3, 100, 1},
      {Resize::fit, 64, 48, 301, 200, 64, 43},
      {Resize::exact, 30, 20, 7, 9, 30, 20},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.width);
    const ImageRule rule{.resize = row.resize, .width = row.a, .height = row.b};
    const ImageGeometry plan = plan_geometry(row.width, row.height, 1, rule);
    CHECK(plan.scaled_width == row.to_width);
    CHECK(plan.scaled_height == row.to_height);
  }
}

TEST_CASE("image geometry: a center crop rounds halves to even, as torchvision") {
  const ImageRule rule{.crop_width = 4, .crop_height = 4};
  const ImageGeometry plan = plan_geometry(5, 7, 1, rule);
  CHECK(plan.crop_x == 0);
  CHECK(plan.crop_y == 2);
  CHECK(plan_geometry(3, 9, 1, rule).width == 0);
}

TEST_CASE("image geometry: only_larger leaves smaller images alone, rotation comes first") {
  ImageRule rule{.resize = Resize::shorter, .width = 256, .only_larger = true};
  CHECK_FALSE(plan_geometry(200, 999, 1, rule).is_resized());
  CHECK(plan_geometry(300, 999, 1, rule).is_resized());
  rule = {.resize = Resize::exact, .width = 30, .height = 20, .apply_rotation = true};
  const ImageGeometry plan = plan_geometry(10, 50, 6, rule);
  CHECK(plan.source_width == 50);
  CHECK(plan.width == 30);
}

}  // namespace shale::test
