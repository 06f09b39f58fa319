#include <array>

#include <doctest/doctest.h>

#include "shale/data/image_report.hpp"

namespace shale {
namespace {

TEST_CASE("image report: bounds of sizes are powers of two, and half as much again") {
  CHECK(size_bound(1) == 1);
  CHECK(size_bound(2) == 2);
  CHECK(size_bound(3) == 3);
  CHECK(size_bound(255) == 192);
  CHECK(size_bound(256) == 256);
  CHECK(size_bound(383) == 256);
  CHECK(size_bound(384) == 384);
  CHECK(size_bound(~std::uint64_t{0}) == std::uint64_t{3} << 62);
  // Each bound is followed by the next one, without a gap.
  for (std::uint64_t bound = 1; bound < 1 << 20; bound = next_size_bound(bound)) {
    CAPTURE(bound);
    CHECK(size_bound(next_size_bound(bound) - 1) == bound);
    CHECK(size_bound(next_size_bound(bound)) == next_size_bound(bound));
  }
}

TEST_CASE("image report: an aspect ratio counts under the nearest in proportion") {
  using Aspect = std::array<std::uint64_t, 2>;
  for (const Aspect& aspect : kAspects) {
    CAPTURE(aspect[0]);
    CAPTURE(aspect[1]);
    CHECK(nearest_aspect(aspect[0] * 40, aspect[1] * 40) == aspect);
  }
  CHECK(nearest_aspect(500, 334) == Aspect{3, 2});  // a pixel away
  CHECK(nearest_aspect(115, 100) == Aspect{1, 1});  // below the square root of 4:3, 1.1547
  CHECK(nearest_aspect(116, 100) == Aspect{4, 3});
  CHECK(nearest_aspect(100, 116) == Aspect{3, 4});
  CHECK(nearest_aspect(1, ~std::uint32_t{0}) == Aspect{1, 4});
  CHECK(nearest_aspect(~std::uint64_t{0}, 1) == Aspect{4, 1});
}

TEST_CASE("image report: sums, and images of no size") {
  ImageReport one, other;
  one.types["jpeg"] = 2;
  one.duplicates = {3, 1};
  one.sizes.count(640, 480);
  one.sizes.count(0, 480);
  other.types = {{"jpeg", 1}, {"png", 4}};
  other.odd["cmyk"] = 1;
  other.changed["resized"] = 5;
  other.duplicates = {7, 7};
  other.sizes.count(480, 640);
  one.add(other);
  CHECK(one.types == NamedCounts{{"jpeg", 3}, {"png", 4}});
  CHECK(one.odd == NamedCounts{{"cmyk", 1}});
  CHECK(one.changed == NamedCounts{{"resized", 5}});
  CHECK(one.sizes.shorter == std::map<std::uint64_t, std::uint64_t>{{384, 2}});
  CHECK(one.sizes.longer == std::map<std::uint64_t, std::uint64_t>{{512, 2}});
  CHECK(one.sizes.aspects.size() == 2);
  CHECK(one.duplicates == DuplicateCounts{3, 1});
}

}  // namespace
}  // namespace shale
