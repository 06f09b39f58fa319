#include "unit/pixels/view_samples.hpp"

#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <span>
#include <utility>

#include <jpeglib.h>

namespace shale::test {

SeenView seen(std::string_view image, const ImageInfo& info, const ImageView& view,
              SimdLevel level) {
  const std::vector<char> exact(image.begin(), image.end());
  const Bytes bytes = as_bytes({exact.data(), exact.size()});
  const ViewPlan plan = plan_view(bytes, info, view);
  if (!plan.fault.empty()) return {.levels = {}, .fault = plan.fault, .dct_size = plan.dct_size};
  Levels levels(view.size(), 0xEE);
  ImageFault fault =
      read_view(bytes, info, view, plan, std::as_writable_bytes(std::span(levels)), level);
  return {.levels = std::move(levels), .fault = std::move(fault), .dct_size = plan.dct_size};
}

SeenView seen(const std::string& image, const ImageView& view, SimdLevel level) {
  return seen(image, probe(image), view, level);
}

std::vector<JpegRecipe> view_kinds() {
  std::vector<JpegRecipe> kinds = {
      {.color = JpegColor::gray},
      {.color = JpegColor::rgb},
      {.color = JpegColor::cmyk},
      {.color = JpegColor::ycck},
      {.color = JpegColor::gray, .is_progressive = true},
      {.is_progressive = true},
      {.is_one_scan_a_channel = true},
      {.is_subsampled = false},
      {.luma_columns = 2, .luma_rows = 2},
      {.luma_columns = 2, .luma_rows = 1},
      {.luma_columns = 1, .luma_rows = 2},
      {.luma_columns = 4, .luma_rows = 1},
      {.luma_columns = 4, .luma_rows = 2},
      {.luma_columns = 1, .luma_rows = 4},
      {.luma_columns = 2, .luma_rows = 4},
      {.restart_rows = 1},
      {.is_subsampled = false, .restart_rows = 2},
  };
#ifdef D_ARITH_CODING_SUPPORTED  // a choice of who built libjpeg-turbo
  kinds.push_back({.is_arithmetic = true});
#endif
  return kinds;
}

}  // namespace shale::test
