#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/data/sample_axis.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

TEST_CASE("sample axis: names and numbers come back as they were written") {
  const std::vector<SampleAxis> axes = parse_axes("images=-1,a/b=0,x=y=2");

  REQUIRE(axes.size() == 3);
  CHECK(axes[0] == SampleAxis{"images", -1});
  CHECK(axes[1] == SampleAxis{"a/b", 0});
  CHECK(axes[2] == SampleAxis{"x=y", 2});
  CHECK(axes_text(axes) == "images=-1,a/b=0,x=y=2");
}

TEST_CASE("sample axis: other words are refused") {
  for (const char* text : {"", "images", "images=", "=1", "images=one", "images=1,", "images=1 ",
                           "a=1,a=2", "a\tb=1", "images=99999999999999999999"}) {
    CAPTURE(text);
    CHECK(test::error_of([&] { (void)parse_axes(text); }).code() == Code::usage);
  }
}

TEST_CASE("sample axis: it counts from either end") {
  CHECK(SampleAxis{"x", -1}.among(3) == 2);
  CHECK(SampleAxis{"x", -3}.among(3) == 0);
  CHECK(SampleAxis{"x", 2}.among(3) == 2);
  CHECK(test::error_of([] { (void)SampleAxis{"x", 3}.among(3); }).code() == Code::usage);
  CHECK(test::error_of([] { (void)SampleAxis{"x", -4}.among(3); }).code() == Code::usage);
}

TEST_CASE("sample axis: its side goes first, the others stay in order") {
  using Sides = std::vector<std::uint64_t>;
  CHECK(with_side_first({2, 3, 4}, 2) == Sides{4, 2, 3});
  CHECK(with_side_first({2, 3, 4}, 1) == Sides{3, 2, 4});
  CHECK(with_side_first({2, 3, 4}, 0) == Sides{2, 3, 4});
}

TEST_CASE("sample axis: an array is found by either of its names") {
  const std::vector<SampleAxis> axes = {{"train/x", 1}, {"y", 2}};
  CHECK(axis_of(axes, "train/x", "train_x") == &axes[0]);
  CHECK(axis_of(axes, "test/y", "y") == &axes[1]);
  CHECK(axis_of(axes, "z", "z") == nullptr);
}

}  // namespace
}  // namespace shale
