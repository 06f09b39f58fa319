#include <cstdlib>
#include <numeric>

#include <doctest/doctest.h>

#include "shale/pixels/filter_windows.hpp"

namespace shale::test {
namespace {

constexpr FilterKernel kKernels[] = {FilterKernel::smooth, FilterKernel::triangle,
                                     FilterKernel::cubic, FilterKernel::nearest};

FilterAxis axis_of(std::uint32_t from, std::uint32_t to,
                   FilterKernel kernel = FilterKernel::smooth) {
  return {
      .source_samples = from, .ratio_num = from, .ratio_den = to, .outputs = to, .kernel = kernel};
}

// Weights add up to one, lie within the source, and are what filter_rows.cpp counts on.
void check_weights(const FilterAxis& axis) {
  const FilterWindows windows = make_filter_windows(axis);
  CHECK(windows.weights_each <= window_samples(axis));
  for (std::uint32_t i = 0; i < axis.outputs; ++i) {
    int sum = 0, absolute = 0;
    for (std::size_t k = 0; k < windows.weights_each; ++k) {
      const int weight = windows.weights[i * windows.weights_each + k];
      sum += weight;
      absolute += std::abs(weight);
      if (k >= windows.count[i]) CHECK(weight == 0);
    }
    CHECK(sum == 1 << kWeightBits);
    CHECK(absolute < 1.7 * (1 << kWeightBits));
    CHECK(windows.begin[i] + windows.count[i] <= axis.source_samples);
  }
}

}  // namespace

TEST_CASE("filter windows: weights add up to one and do not reach far, at any reduction") {
  for (const auto& sides : {std::pair{500U, 341U},
                            {375U, 256U},
                            {7U, 300U},
                            {65500U, 3U},
                            {1U, 9U},
                            {9U, 1U},
                            {2U, 2U}}) {
    CAPTURE(sides.first);
    for (const FilterKernel kernel : kKernels) {
      check_weights(axis_of(sides.first, sides.second, kernel));
    }
  }
}

TEST_CASE("filter windows: an axis of the same size is the identity") {
  for (const FilterKernel kernel : kKernels) {
    const FilterWindows windows = make_filter_windows(axis_of(50, 50, kernel));
    for (std::uint32_t i = 0; i < 50; ++i) {
      CHECK(windows.begin[i] == i);
      CHECK(windows.count[i] == 1);
    }
  }
}

TEST_CASE("filter windows: a ramp stays a ramp, mirrored or not") {
  for (const bool is_mirrored : {false, true}) {
    FilterAxis axis = axis_of(400, 160);
    if (is_mirrored) {
      axis.first2 = 2 * 160 - 1;
      axis.step2 = -2;
    }
    const FilterWindows windows = make_filter_windows(axis);
    for (std::uint32_t i = 10; i < 150; ++i) {  // clear of the edges
      double place = 0;
      for (std::size_t k = 0; k < windows.count[i]; ++k) {
        place += (windows.begin[i] + double(k) + 0.5) *
                 windows.weights[i * windows.weights_each + k] / 16384;
      }
      const double wanted = ((is_mirrored ? 159 - i : i) + 0.5) * 2.5;
      CHECK(place == doctest::Approx(wanted).epsilon(0.0005));
    }
  }
}

TEST_CASE("filter windows: nearest samples are those of Pillow") {
  const std::vector<std::uint32_t> nearest = nearest_samples(axis_of(7, 3));
  CHECK(nearest == std::vector<std::uint32_t>{1, 3, 5});
}

}  // namespace shale::test
