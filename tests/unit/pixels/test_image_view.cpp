#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <jpeglib.h>

#include "shale/base/error.hpp"
#include "shale/image/rgb.hpp"
#include "shale/pixels/image_view.hpp"
#include "shale/pixels/picture.hpp"

#include "unit/image/image_samples.hpp"
#include "unit/pixels/view_samples.hpp"

namespace shale::test {
namespace {

// All pixels as RGB, by the decoders that are there for it.
Levels whole_of(const std::string& image, const ImageInfo& info) {
  Levels levels(std::size_t{3} * info.width * info.height);
  if (info.type == ImageType::jpeg) {
    std::optional<RgbDecoder> decoder = RgbDecoder::open(as_bytes(image), 1 << 30);
    REQUIRE(decoder);
    std::move(*decoder).decode(PixelOrder::hwc, std::as_writable_bytes(std::span(levels)));
    return levels;
  }
  const DecodedPicture decoded = decode_picture(as_bytes(image), info, false, 1 << 30);
  REQUIRE(decoded.fault.empty());
  const std::size_t channels = decoded.picture.photo_channels();
  Levels row(std::size_t{info.width} * channels);
  for (std::size_t y = 0; y < info.height; ++y) {
    photo_row(decoded.picture, y, row.data());
    for (std::size_t i = 0; i < 3U * info.width; ++i) {
      levels[3 * y * info.width + i] = channels == 3 ? row[i] : row[i / 3];
    }
  }
  return levels;
}

Levels cut(const Levels& whole, std::uint32_t width, const PixelBox& box) {
  Levels levels;
  levels.reserve(std::size_t{3} * box.width * box.height);
  for (std::size_t y = box.y; y < box.y + box.height; ++y) {
    const auto row = whole.begin() + static_cast<std::ptrdiff_t>(3 * (y * width + box.x));
    levels.insert(levels.end(), row, row + 3 * std::ptrdiff_t{box.width});
  }
  return levels;
}

double weight(FilterKernel kernel, double t) {
  t = std::fabs(t);
  if (kernel == FilterKernel::triangle) return t < 1 ? 1 - t : 0;
  if (t < 1) return (1.5 * t - 2.5) * t * t + 1;
  return t < 2 ? ((-0.5 * t + 2.5) * t - 4) * t + 2 : 0;
}

// One side of rows of `across` times 3 levels or, transposed, of columns: the filter that Pillow's
// resize() documents, in double precision.
std::vector<double> filtered(const std::vector<double>& in, std::size_t lines, std::size_t from,
                             std::size_t to, FilterKernel kernel, bool is_down) {
  std::vector<double> out(lines * to * 3);
  const double scale = double(from) / double(to), stretch = std::max(scale, 1.0);
  const double reach = stretch * (kernel == FilterKernel::triangle ? 1 : 2);
  const auto at = [&](std::size_t line, std::size_t i, std::size_t length, std::size_t c) {
    return 3 * (is_down ? i * lines + line : line * length + i) + c;
  };
  for (std::size_t i = 0; i < to; ++i) {
    const double center = (double(i) + 0.5) * scale;
    const auto first = static_cast<std::size_t>(std::max(center - reach, 0.0));
    const auto end = std::min(from, static_cast<std::size_t>(center + reach) + 1);
    double sum = 0;
    std::vector<double> weights;
    weights.reserve(end - first);
    for (std::size_t k = first; k < end; ++k) {
      weights.push_back(weight(kernel, (double(k) + 0.5 - center) / stretch));
      sum += weights.back();
    }
    for (std::size_t line = 0; line < lines; ++line) {
      for (std::size_t c = 0; c < 3; ++c) {
        double level = 0;
        for (std::size_t k = first; k < end; ++k) {
          level += in[at(line, k, from, c)] * weights[k - first] / sum;
        }
        out[at(line, i, to, c)] = level;
      }
    }
  }
  return out;
}

std::vector<double> reference(const std::string& image, const ImageView& view) {
  const ImageInfo info = probe(image);
  const Levels box = cut(whole_of(image, info), info.width, view.box);
  const std::vector<double> levels(box.begin(), box.end());
  const std::vector<double> narrow =
      filtered(levels, view.box.height, view.box.width, view.width, view.kernel, false);
  return filtered(narrow, view.width, view.box.height, view.height, view.kernel, true);
}

struct Errors {
  double most = 0, mean = 0;
};
Errors errors_of(const Levels& levels, const std::vector<double>& wanted) {
  REQUIRE(levels.size() == wanted.size());
  Errors errors;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double error = std::fabs(levels[i] - std::clamp(wanted[i], 0.0, 255.0));
    errors.most = std::max(errors.most, error);
    errors.mean += error / double(levels.size());
  }
  return errors;
}

// What libjpeg makes of the whole image at a smaller scale.
Levels scaled_whole_of(const std::string& jpeg, unsigned dct_size) {
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};  // the default one: ends the test with libjpeg's message
  state.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&state);
  jpeg_mem_src(&state, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  jpeg_read_header(&state, TRUE);
  state.out_color_space = JCS_RGB;
  state.scale_num = dct_size;
  state.scale_denom = 8;
  jpeg_start_decompress(&state);
  Levels levels(std::size_t{3} * state.output_width * state.output_height);
  while (state.output_scanline < state.output_height) {
    JSAMPROW rows[] = {levels.data() + std::size_t{3} * state.output_width * state.output_scanline};
    jpeg_read_scanlines(&state, rows, 1);
  }
  jpeg_finish_decompress(&state);
  jpeg_destroy_decompress(&state);
  return levels;
}

// Spans that begin and end everywhere in a side, and single pixels.
std::vector<std::pair<std::uint32_t, std::uint32_t>> spans_of(std::uint32_t side) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> spans = {
      {0, side}, {0, 1}, {side - 1, 1}, {side / 2, side - side / 2}, {1, side - 2}};
  for (const std::uint32_t begin : {7U, 15U, 16U, 17U, 18U, 31U, 32U, 33U, 47U, 48U}) {
    for (const std::uint32_t length : {1U, 2U, 16U, 19U}) {
      if (begin + length <= side) spans.emplace_back(begin, length);
    }
  }
  return spans;
}

ImageView pixels_of_box(const PixelBox& box) {
  return {.box = box, .width = box.width, .height = box.height};
}

// The window of a view, turned as the view says, cut out of the view of the whole scaled box.
Levels window_of_whole(const std::string& image, const ImageInfo& info, const ImageView& view,
                       unsigned dct_size) {
  ImageView whole = view;
  whole.width = view.whole_width();
  whole.height = view.whole_height();
  whole.window_x = whole.window_y = 0;
  whole.is_mirrored = whole.is_upside_down = false;
  const SeenView made = seen(image, info, whole);
  REQUIRE(made.fault.text == "");
  REQUIRE(made.dct_size == dct_size);
  Levels levels(view.size());
  const auto place = [](const ImageView& of, std::size_t x, std::size_t y, std::size_t c) {
    return of.order == PixelOrder::chw ? (c * of.height + y) * of.width + x
                                       : (y * of.width + x) * of.channels + c;
  };
  for (std::size_t y = 0; y < view.height; ++y) {
    for (std::size_t x = 0; x < view.width; ++x) {
      const std::size_t from_x = view.window_x + (view.is_mirrored ? view.width - 1 - x : x);
      const std::size_t from_y = view.window_y + (view.is_upside_down ? view.height - 1 - y : y);
      for (std::size_t c = 0; c < view.channels; ++c) {
        levels[place(view, x, y, c)] = made.levels[place(whole, from_x, from_y, c)];
      }
    }
  }
  return levels;
}

// Any box, scaled by anything from 1/12 to 4 on each side, and any window of it.
ImageView any_view(const ImageInfo& info, std::mt19937& random) {
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  const auto scaled = [&](std::uint32_t length) {
    return 1 + (below(2) == 0 ? length * (1 + below(12)) / 12 : length * (1 + below(48)) / 12);
  };
  ImageView view;
  view.box.x = below(info.width);
  view.box.y = below(info.height);
  view.box.width = 1 + below(info.width - view.box.x);
  view.box.height = 1 + below(info.height - view.box.y);
  view.scaled_width = scaled(view.box.width);
  view.scaled_height = scaled(view.box.height);
  if (below(3) == 0) {  // so that blocks are decoded smaller
    view.scaled_width = 1 + view.box.width / (8 + below(8));
    view.scaled_height = 1 + view.box.height / (3 + below(16));
  }
  view.window_x = below(view.scaled_width);
  view.window_y = below(view.scaled_height);
  view.width = 1 + below(view.scaled_width - view.window_x);
  view.height = 1 + below(view.scaled_height - view.window_y);
  view.kernel = static_cast<FilterKernel>(below(4));
  view.channels = below(4) == 0 ? 1 : 3;
  view.order = below(2) == 0 ? PixelOrder::chw : PixelOrder::hwc;
  view.is_mirrored = below(2) == 0;
  view.is_upside_down = below(2) == 0;
  return view;
}

}  // namespace

TEST_CASE("image view: the pixels of any box of every kind of JPEG are those of the whole image") {
  for (JpegRecipe recipe : view_kinds()) {
    CAPTURE(static_cast<int>(recipe.color));
    CAPTURE(recipe.luma_columns);
    CAPTURE(recipe.luma_rows);
    CAPTURE(recipe.is_progressive);
    CAPTURE(recipe.restart_rows);
    recipe.rows_differ = true;
    recipe.width = 83;
    recipe.height = 69;
    const std::string jpeg = make_jpeg(recipe);
    const ImageInfo info = probe(jpeg);
    const Levels whole = whole_of(jpeg, info);
    for (const auto& across : spans_of(recipe.width)) {
      for (const auto& down : spans_of(recipe.height)) {
        const PixelBox box{across.first, down.first, across.second, down.second};
        const SeenView view = seen(jpeg, info, pixels_of_box(box));
        const bool is_equal = view.fault.empty() && view.levels == cut(whole, info.width, box);
        if (is_equal) continue;
        CAPTURE(box.x);
        CAPTURE(box.y);
        CAPTURE(box.width);
        CAPTURE(box.height);
        CAPTURE(view.fault.text);
        CHECK(is_equal);
      }
    }
  }
}

TEST_CASE("image view: every small size has every box of it") {
  for (const JpegColor color : {JpegColor::gray, JpegColor::ycc, JpegColor::cmyk}) {
    for (const unsigned width : {1U, 2U, 3U, 17U, 18U, 19U}) {
      for (const unsigned height : {1U, 2U, 3U, 17U, 18U}) {
        const std::string jpeg =
            make_jpeg({.width = width, .height = height, .color = color, .rows_differ = true});
        const ImageInfo info = probe(jpeg);
        const Levels whole = whole_of(jpeg, info);
        for (std::uint32_t x = 0; x < width; ++x) {
          for (std::uint32_t y = 0; y < height; ++y) {
            const PixelBox box{x, y, width - x, std::min(2U, height - y)};
            CHECK((seen(jpeg, info, pixels_of_box(box)).levels == cut(whole, width, box)));
          }
        }
      }
    }
  }
}

TEST_CASE("image view: at a smaller scale too, any box is that of the whole image") {
  for (JpegRecipe recipe : view_kinds()) {
    if (recipe.color == JpegColor::cmyk || recipe.color == JpegColor::ycck) continue;
    CAPTURE(static_cast<int>(recipe.color));
    CAPTURE(recipe.luma_columns);
    CAPTURE(recipe.luma_rows);
    recipe.rows_differ = true;
    for (const auto& sides : {std::pair{197U, 171U}, {200U, 168U}, {248U, 184U}}) {
      const unsigned width = sides.first, height = sides.second;
      recipe.width = width;
      recipe.height = height;
      const std::string jpeg = make_jpeg(recipe);
      const ImageInfo info = probe(jpeg);
      for (const unsigned size : {1U, 2U, 4U}) {
        CAPTURE(width);
        CAPTURE(size);
        const std::uint32_t part = 8 / size, scaled_width = (width + part - 1) / part;
        const std::uint32_t right = width / part, bottom = height / part;
        const Levels whole = scaled_whole_of(jpeg, size);
        for (const PixelBox& box :
             {PixelBox{0, 0, 5, 7}, PixelBox{3, 2, 9, 8}, PixelBox{8, 16, 8, 4},
              PixelBox{13, 11, 11, 10}, PixelBox{1, 20, 1, 1}, PixelBox{right - 1, 3, 1, 1},
              PixelBox{right - 2, 2, 2, 2}, PixelBox{right - 3, bottom - 1, 3, 1},
              PixelBox{right - 9, bottom - 7, 9, 7}}) {
          const ImageView view{
              .box = {box.x * part, box.y * part, box.width * part, box.height * part},
              .width = box.width,
              .height = box.height};
          const SeenView made = seen(jpeg, info, view);
          CHECK(made.dct_size == size);
          CHECK((made.levels == cut(whole, scaled_width, box)));
        }
      }
    }
  }
}

TEST_CASE("image view: a progressive JPEG that lacks scans is smoothed as in the whole image") {
  const std::string whole =
      make_jpeg({.width = 120, .height = 90, .is_progressive = true, .is_smooth = true});
  std::size_t at = whole.find("\xFF\xDA");
  for (int scan = 0; scan < 2; ++scan) at = whole.find("\xFF\xDA", at + 2);
  const std::size_t tables = whole.rfind("\xFF\xC4", at);
  const std::string jpeg = whole.substr(0, tables) + "\xFF\xD9";
  const ImageInfo info = probe(jpeg);
  const PixelBox box{37, 41, 50, 30};

  const SeenView view = seen(jpeg, info, pixels_of_box(box));

  CHECK(view.fault.text == "");
  CHECK((view.levels == cut(whole_of(jpeg, info), info.width, box)));
}

TEST_CASE("image view: filters are those of Pillow within one level, at every SIMD level equally") {
  const std::string images[] = {
      make_jpeg({.width = 150, .height = 131, .rows_differ = true}),
      make_jpeg({.width = 150, .height = 131, .color = JpegColor::gray, .rows_differ = true}),
      make_jpeg({.width = 150, .height = 131, .color = JpegColor::ycck, .rows_differ = true}),
      make_png({.width = 150, .height = 131}),
      make_png({.width = 150, .height = 131, .color_type = 0, .bits = 16}),
  };
  for (const std::string& image : images) {
    for (const FilterKernel kernel : {FilterKernel::triangle, FilterKernel::cubic}) {
      for (const auto& sides : {std::pair{40U, 56U}, {224U, 224U}, {90U, 7U}, {1U, 1U}}) {
        ImageView view{.box = {21, 5, 97, 113},
                       .width = sides.first,
                       .height = sides.second,
                       .kernel = kernel,
                       .scaled_decoding = false};
        CAPTURE(view.width);
        CAPTURE(static_cast<int>(kernel));
        const Levels levels = seen(image, view).levels;
        CHECK(errors_of(levels, reference(image, view)).most <= 1);
        for (const SimdLevel level : {SimdLevel::scalar, SimdLevel::sse41, SimdLevel::avx2}) {
          if (level <= best_simd_level()) CHECK((seen(image, view, level).levels == levels));
        }
        view.order = PixelOrder::chw;
        const Levels planes = seen(image, view).levels;
        REQUIRE(planes.size() == levels.size());
        bool is_same = true;
        for (std::size_t i = 0; i < levels.size(); ++i) {
          is_same = is_same && planes[i % 3 * (levels.size() / 3) + i / 3] == levels[i];
        }
        CHECK(is_same);
      }
    }
  }
}

TEST_CASE("image view: nearest takes the pixel that holds the center, at full size") {
  const std::string jpeg = make_jpeg({.width = 120, .height = 99, .rows_differ = true});
  const ImageInfo info = probe(jpeg);
  const Levels whole = whole_of(jpeg, info);
  for (const auto& [width, height] : {std::pair{7U, 5U}, {200U, 100U}}) {
    const ImageView view{
        .box = {13, 9, 101, 77}, .width = width, .height = height, .kernel = FilterKernel::nearest};
    const SeenView made = seen(jpeg, info, view);
    CHECK(made.dct_size == 8);
    Levels wanted;
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t row = 9 + (2 * y + 1) * 77 / (2 * height);
        const std::size_t column = 13 + (2 * x + 1) * 101 / (2 * width);
        for (std::size_t c = 0; c < 3; ++c) wanted.push_back(whole[3 * (row * 120 + column) + c]);
      }
    }
    CHECK((made.levels == wanted));
  }
}

TEST_CASE("image view: the scale is the smallest whose box is as large as the result") {
  const std::string jpeg = make_jpeg({.width = 400, .height = 300, .is_smooth = true});
  struct Row {
    std::uint32_t box_width, box_height, width, height;
    bool scaled_decoding;
    unsigned dct_size;
  };
  constexpr Row kRows[] = {
      {399, 300, 200, 100, true, 8}, {400, 300, 200, 150, true, 4}, {400, 300, 200, 151, true, 8},
      {400, 300, 100, 75, true, 2},  {400, 296, 50, 37, true, 1},   {400, 296, 50, 38, true, 2},
      {8, 8, 1, 1, true, 1},         {400, 296, 50, 37, false, 8},  {30, 30, 224, 224, true, 8},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.width);
    CAPTURE(row.height);
    const ImageView view{.box = {0, 0, row.box_width, row.box_height},
                         .width = row.width,
                         .height = row.height,
                         .scaled_decoding = row.scaled_decoding};
    CHECK(seen(jpeg, view).dct_size == row.dct_size);
  }
}

TEST_CASE("image view: on a smooth image scaled decoding is off by less than a level in the mean") {
  const std::string jpeg = make_jpeg({.width = 700, .height = 640, .is_smooth = true});
  for (const FilterKernel kernel : {FilterKernel::triangle, FilterKernel::cubic}) {
    struct Row {
      std::uint32_t side;
      unsigned dct_size;
      double most_mean;
    };
    constexpr Row kRows[] = {{280, 4, 0.5}, {150, 2, 0.75}, {75, 1, 1.0}};
    for (const Row& row : kRows) {
      const ImageView view{
          .box = {33, 17, 651, 607}, .width = row.side, .height = row.side, .kernel = kernel};
      CAPTURE(row.side);
      const SeenView made = seen(jpeg, view);
      CHECK(made.dct_size == row.dct_size);
      CHECK(errors_of(made.levels, reference(jpeg, view)).mean < row.most_mean);
    }
  }
}

TEST_CASE("image view: gray is what Pillow converts the pixels to") {
  for (const JpegColor color : {JpegColor::ycc, JpegColor::gray, JpegColor::cmyk}) {
    const std::string jpeg =
        make_jpeg({.width = 50, .height = 40, .color = color, .rows_differ = true});
    const ImageInfo info = probe(jpeg);
    ImageView view = pixels_of_box({9, 7, 30, 20});
    const Levels rgb = cut(whole_of(jpeg, info), info.width, view.box);
    view.channels = 1;
    Levels wanted;
    for (std::size_t i = 0; i < rgb.size(); i += 3) {
      const unsigned sum = 19595U * rgb[i] + 38470U * rgb[i + 1] + 7471U * rgb[i + 2] + 32768;
      wanted.push_back(static_cast<std::uint8_t>(sum >> 16));
    }
    CHECK((seen(jpeg, info, view).levels == wanted));
  }
}

TEST_CASE("image view: damage above or in the box is a fault, damage below it is not seen") {
  for (const bool is_progressive : {false, true}) {
    const std::string whole = make_jpeg(
        {.width = 96, .height = 96, .is_progressive = is_progressive, .rows_differ = true});
    const ImageInfo info = probe(whole);
    const std::string part = whole.substr(0, whole.size() / 2);

    const ImageFault above = seen(part, info, pixels_of_box({0, 0, 90, 16})).fault;
    const ImageFault below = seen(part, info, pixels_of_box({50, 80, 10, 10})).fault;

    CHECK(above.empty() == !is_progressive);  // all of its scans are needed for any pixel
    CHECK(below.code == ImageFaultCode::damaged);
    CHECK(seen(part, pixels_of_box({0, 0, 90, 16})).fault.code == ImageFaultCode::truncated);
  }
}

TEST_CASE("image view: what is too large is a fault of the plan") {
  const std::string jpeg = make_jpeg({.is_progressive = true});
  ImageView view{.box = {0, 0, 10, 10}, .width = 224, .height = 224};
  CHECK(plan_view(as_bytes(jpeg), probe(jpeg), view, 1000).fault.code == ImageFaultCode::too_large);
  view.width = view.height = 20000;
  CHECK(plan_view(as_bytes(jpeg), probe(jpeg), view).fault.code == ImageFaultCode::too_large);
}

TEST_CASE("image view: a box beyond the image is a bug of the caller") {
  const std::string jpeg = make_jpeg({.width = 48, .height = 40});
  const ImageInfo info = probe(jpeg);
  for (const PixelBox& box :
       {PixelBox{0, 0, 0, 1}, PixelBox{0, 0, 1, 0}, PixelBox{0, 0, 49, 1}, PixelBox{48, 0, 1, 1},
        PixelBox{1, 40, 1, 1}, PixelBox{4, 4, 0xFFFFFFFE, 1}}) {
    const ImageView view{.box = box, .width = 1, .height = 1};
    CHECK_THROWS_AS((void)plan_view(as_bytes(jpeg), info, view), Error);
  }
}

TEST_CASE("image view: any window of any box, turned or not, is that of the whole, to the byte") {
  constexpr unsigned kSeed = 20;
  constexpr int kViewsEach = 60;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  std::vector<std::string> images = {make_png({.width = 150, .height = 131}),
                                     make_png({.width = 61, .height = 40, .color_type = 0})};
  for (JpegRecipe recipe : view_kinds()) {
    recipe.rows_differ = true;
    recipe.width = 163;
    recipe.height = 149;
    images.push_back(make_jpeg(recipe));
  }
  std::array<int, 9> seen_sizes{};
  for (std::size_t i = 0; i < images.size(); ++i) {
    const ImageInfo info = probe(images[i]);
    for (int view_number = 0; view_number < kViewsEach; ++view_number) {
      const ImageView view = any_view(info, random);
      const SeenView made = seen(images[i], info, view);
      ++seen_sizes.at(made.dct_size);
      bool is_equal = made.fault.empty() &&
                      made.levels == window_of_whole(images[i], info, view, made.dct_size);
      for (const SimdLevel level : {SimdLevel::scalar, SimdLevel::sse41}) {
        if (level > best_simd_level()) continue;
        is_equal = is_equal && seen(images[i], info, view, level).levels == made.levels;
      }
      if (is_equal) continue;
      CAPTURE(i);
      CAPTURE(view_number);
      CAPTURE(made.dct_size);
      CAPTURE(made.fault.text);
      CHECK(is_equal);
    }
  }
  for (const std::size_t size : {1U, 2U, 4U, 8U}) CHECK(seen_sizes.at(size) > 50);
}

TEST_CASE("image view: what is below the rows that a window needs is not read") {
  const std::string whole = make_jpeg({.width = 96, .height = 96, .rows_differ = true});
  const ImageInfo info = probe(whole);
  const std::string part = whole.substr(0, whole.size() / 2);
  ImageView view{
      .box = {0, 0, 96, 96}, .width = 20, .height = 16, .scaled_width = 64, .scaled_height = 64};

  CHECK(seen(part, info, view).fault.text == "");
  view.is_upside_down = true;
  CHECK(seen(part, info, view).fault.text == "");
  view.window_y = 48;
  CHECK(seen(part, info, view).fault.code == ImageFaultCode::damaged);
}

TEST_CASE("image view: a window beyond the scaled box is a bug of the caller") {
  const std::string jpeg = make_jpeg({.width = 48, .height = 40});
  const ImageInfo info = probe(jpeg);
  struct Row {
    std::uint32_t scaled_width, scaled_height, x, y;
  };
  constexpr Row kRows[] = {{7, 8, 0, 0}, {8, 7, 0, 0}, {9, 8, 2, 0},
                           {8, 9, 0, 2}, {0, 0, 1, 0}, {9, 9, 0xFFFFFFFF, 0}};
  for (const Row& row : kRows) {
    const ImageView view{.box = {0, 0, 48, 40},
                         .width = 8,
                         .height = 8,
                         .scaled_width = row.scaled_width,
                         .scaled_height = row.scaled_height,
                         .window_x = row.x,
                         .window_y = row.y};
    CAPTURE(row.x);
    CHECK_THROWS_AS((void)plan_view(as_bytes(jpeg), info, view), Error);
  }
}

TEST_CASE("image view: the scale of a window is that of the whole scaled box") {
  const std::string jpeg = make_jpeg({.width = 400, .height = 300, .is_smooth = true});
  ImageView view{.box = {0, 0, 400, 300},
                 .width = 20,
                 .height = 20,
                 .scaled_width = 200,
                 .scaled_height = 150,
                 .window_x = 180,
                 .window_y = 130};
  CHECK(seen(jpeg, view).dct_size == 4);
  view.scaled_width = 201;
  CHECK(seen(jpeg, view).dct_size == 8);
}

}  // namespace shale::test
