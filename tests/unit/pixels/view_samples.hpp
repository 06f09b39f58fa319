#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/pixels/image_view.hpp"

#include "unit/image/image_samples.hpp"

namespace shale::test {

using Levels = std::vector<std::uint8_t>;

struct SeenView {
  Levels levels;
  ImageFault fault;
  unsigned dct_size = 0;
};

/// Plans and reads a view. Copies both sides to memory that ends where they end, so that
/// AddressSanitizer sees any step beyond.
[[nodiscard]] SeenView seen(std::string_view image, const ImageInfo& info, const ImageView& view,
                            SimdLevel level = best_simd_level());
[[nodiscard]] SeenView seen(const std::string& image, const ImageView& view,
                            SimdLevel level = best_simd_level());

/// JPEGs of every color, subsampling and coding that a view decodes in another way.
[[nodiscard]] std::vector<JpegRecipe> view_kinds();

}  // namespace shale::test
