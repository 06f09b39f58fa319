#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/image/rgb.hpp"
#include "shale/loading/view_work.hpp"
#include "shale/pixels/picture.hpp"

#include "unit/image/image_samples.hpp"
#include "unit/pixels/view_samples.hpp"

namespace shale::test {
namespace {

using Elements = std::vector<std::byte>;

struct WorkedView {
  Elements elements;
  ImageFault fault;
};

// Into memory that ends where the result ends, and that has another content before.
WorkedView worked(const std::string& image, const DrawnView& drawn, const ViewPixels& pixels,
                  SimdLevel level = best_simd_level()) {
  const ViewWorker worker(pixels, level);
  ViewScratch scratch;
  WorkedView made;
  made.elements.resize(worker.size_of(drawn), std::byte{0xEE});
  made.fault = worker.run(as_bytes(image), probe(image), drawn, made.elements, scratch);
  return made;
}

Elements any_elements(std::size_t bytes, std::mt19937& random) {
  Elements elements(bytes);
  for (std::byte& byte : elements) byte = static_cast<std::byte>(random());
  return elements;
}

ViewPixels plain_pixels(unsigned channels = 3) {
  ViewPixels pixels;
  pixels.channels = channels;
  pixels.fill.resize(channels, std::byte{7});
  return pixels;
}

ViewPixels any_pixels(std::size_t item_bytes, std::mt19937& random) {
  ViewPixels pixels = plain_pixels(random() % 2 == 0 ? 1 : 3);
  pixels.is_gray = random() % 3 == 0;
  pixels.order = random() % 2 == 0 ? PixelOrder::chw : PixelOrder::hwc;
  pixels.kernel = random() % 2 == 0 ? FilterKernel::triangle : FilterKernel::cubic;
  pixels.scaled_decoding = random() % 2 == 0;
  pixels.item_bytes = item_bytes;
  if (item_bytes > 1 || random() % 2 == 0)
    pixels.table = any_elements(pixels.channels * 256 * item_bytes, random);
  pixels.fill = any_elements(pixels.channels * item_bytes, random);
  return pixels;
}

// The whole box, scaled by steps, and a window that is within it or not.
DrawnView any_drawn(const ImageInfo& info, std::mt19937& random) {
  const auto below = [&](std::uint32_t count) {
    return static_cast<std::uint32_t>(random() % count);
  };
  const auto side = [&] { return 1 + below(60); };
  const std::vector<ViewStep> steps = {
      RandomResizedCrop{.width = side(), .height = side()},
      RandomFlip{.is_horizontal = true, .probability = 0.5},
      RandomFlip{.is_horizontal = false, .probability = 0.5},
      CenterCrop{.width = side(), .height = side()},
      RandomFlip{},
      RandomCrop{.width = side(),
                 .height = side(),
                 .left = below(9),
                 .top = below(9),
                 .right = 3,
                 .bottom = 2,
                 .pads_if_needed = true},
  };
  return draw_view(std::span(steps).first(below(2) * 4 + 2), info.width, info.height, random());
}

DrawnView whole_of(const ImageInfo& info) { return draw_view({}, info.width, info.height, 0); }

// Element by element, out of the whole scaled box.
Elements wanted_elements(const std::string& image, const ImageInfo& info, const DrawnView& drawn,
                         const ViewPixels& pixels) {
  const unsigned read = pixels.is_gray ? 1 : pixels.channels;
  const SeenView whole = seen(image, info,
                              {.box = drawn.box,
                               .width = drawn.scaled_width,
                               .height = drawn.scaled_height,
                               .kernel = pixels.kernel,
                               .channels = read,
                               .scaled_decoding = pixels.scaled_decoding,
                               .drops_alpha = true});
  REQUIRE(whole.fault.text == "");
  const std::int64_t width = drawn.window.width, height = drawn.window.height;
  const std::size_t item = pixels.item_bytes, channels = pixels.channels;
  Elements wanted(static_cast<std::size_t>(width * height) * channels * item);
  for (std::int64_t i = 0; i < width * height * std::int64_t(channels); ++i) {
    const bool has_planes = pixels.order == PixelOrder::chw;
    const auto c =
        static_cast<std::size_t>(has_planes ? i / (width * height) : i % std::int64_t(channels));
    const std::int64_t pixel = has_planes ? i % (width * height) : i / std::int64_t(channels);
    const std::int64_t x = pixel % width, y = pixel / width;
    const std::int64_t at_x = drawn.window.x + (drawn.is_mirrored ? width - 1 - x : x);
    const std::int64_t at_y = drawn.window.y + (drawn.is_upside_down ? height - 1 - y : y);
    const ViewWindow& visible = drawn.visible;
    const bool is_seen = at_x >= visible.x && at_y >= visible.y &&
                         at_x < visible.x + visible.width && at_y < visible.y + visible.height;
    std::byte* const place = wanted.data() + static_cast<std::size_t>(i) * item;
    if (!is_seen) {
      std::memcpy(place, pixels.fill.data() + c * item, item);
      continue;
    }
    const auto at = static_cast<std::size_t>(at_y * drawn.scaled_width + at_x);
    const std::size_t level = whole.levels[at * read + (read == 1 ? 0 : c)];
    if (pixels.table.empty()) {
      *place = static_cast<std::byte>(level);
    } else {
      std::memcpy(place, pixels.table.data() + (c * 256 + level) * item, item);
    }
  }
  return wanted;
}

std::vector<std::string> taken_images() {
  std::vector<std::string> images = {
      make_png({.width = 70, .height = 51}),
      make_png({.width = 61, .height = 40, .color_type = 0}),
      make_png({.width = 33, .height = 40, .color_type = 3, .has_transparency = true}),
      make_png({.width = 33, .height = 29, .color_type = 6}),
  };
  for (JpegRecipe recipe : view_kinds()) {
    recipe.rows_differ = true;
    recipe.width = 163;
    recipe.height = 149;
    images.push_back(make_jpeg(recipe));
  }
  return images;
}

std::string message_of(const std::string& image, const DrawnView& drawn, std::size_t bytes) {
  const ViewWorker worker(plain_pixels());
  ViewScratch scratch;
  Elements elements(bytes);
  try {
    (void)worker.run(as_bytes(image), probe(image), drawn, elements, scratch);
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("view work: every element is what the table says of its level, and padding is filled") {
  constexpr unsigned kSeed = 1120;
  constexpr int kViewsEach = 30;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  int padded = 0;
  for (const std::string& image : taken_images()) {
    const ImageInfo info = probe(image);
    for (int i = 0; i < kViewsEach; ++i) {
      constexpr std::size_t kItems[] = {1, 2, 4};
      const ViewPixels pixels = any_pixels(kItems[random() % 3], random);
      const DrawnView drawn = any_drawn(info, random);
      padded += drawn.window.width > drawn.visible.width ? 1 : 0;
      const Elements wanted = wanted_elements(image, info, drawn, pixels);
      bool is_equal = true;
      for (const SimdLevel level : {SimdLevel::scalar, SimdLevel::sse41, SimdLevel::avx2}) {
        if (level > best_simd_level()) continue;
        const WorkedView made = worked(image, drawn, pixels, level);
        is_equal = is_equal && made.fault.empty() && made.elements == wanted;
      }
      if (is_equal) continue;
      CAPTURE(info.color);
      CAPTURE(i);
      CHECK(is_equal);
    }
  }
  CHECK(padded > 50);
}

TEST_CASE("view work: a window that shows nothing of the image is all padding") {
  const std::string image = make_png({.width = 20, .height = 20});
  DrawnView drawn = whole_of(probe(image));
  drawn.window = {.x = 40, .y = 0, .width = 5, .height = 4};
  drawn.visible = {.x = 40, .y = 0, .width = 0, .height = 4};
  const WorkedView made = worked(image, drawn, plain_pixels());
  CHECK(made.fault.empty());
  CHECK((made.elements == Elements(60, std::byte{7})));
}

TEST_CASE("view work: alpha and transparent colors are dropped, as by Pillow") {
  for (const PngRecipe& recipe :
       {PngRecipe{.color_type = 6}, PngRecipe{.color_type = 6, .bits = 16},
        PngRecipe{.color_type = 4}, PngRecipe{.color_type = 4, .bits = 16},
        PngRecipe{.color_type = 3, .bits = 4, .has_transparency = true},
        PngRecipe{.color_type = 2, .has_transparency = true},
        PngRecipe{.color_type = 2, .bits = 16, .is_interlaced = true},
        PngRecipe{.color_type = 0, .bits = 2}, PngRecipe{.color_type = 0, .bits = 1}}) {
    CAPTURE(recipe.color_type);
    CAPTURE(recipe.bits);
    const std::string image = make_png(recipe);
    Elements wanted;
    REQUIRE(decode_png_rgb(as_bytes(image), 1 << 20, [&](ImageExtent extent) {
      wanted.resize(std::size_t{3} * extent.width * extent.height);
      return std::span(wanted);
    }));
    ViewPixels pixels = plain_pixels();
    pixels.order = PixelOrder::hwc;
    const WorkedView made = worked(image, whole_of(probe(image)), pixels);
    CHECK(made.fault.text == "");
    CHECK((made.elements == wanted));
  }
}

TEST_CASE("view work: what only Pillow decodes to the same pixels is a fault that says so") {
  struct Row {
    std::string image, text;
  };
  const std::string jpeg = make_jpeg({.width = 96, .height = 96, .rows_differ = true});
  const Row rows[] = {
      {make_png({.color_type = 0, .bits = 16}), "cannot be decoded here: PNG of 16-bit gray"},
      {"P5\n2 2\n255\nabcd", "cannot be decoded here: pnm"},
      {jpeg.substr(0, jpeg.size() - 2), "is truncated: JPEG without end-of-image marker, " +
                                            std::to_string(jpeg.size() - 2) + " bytes"},
  };
  for (const Row& row : rows) {
    const ImageInfo info = probe(row.image);
    CHECK(worked(row.image, whole_of(info), plain_pixels()).fault.text == row.text);
  }
}

TEST_CASE(
    "view work: a JPEG with less data than pixels is a fault, with as much as is seen it is not") {
  std::string image = make_jpeg({.width = 96, .height = 96, .rows_differ = true});
  image = image.substr(0, image.size() / 2) + "\xFF\xD9";
  DrawnView drawn = whole_of(probe(image));
  CHECK(worked(image, drawn, plain_pixels()).fault.code == ImageFaultCode::damaged);
  drawn.window.height = drawn.visible.height = 16;
  CHECK(worked(image, drawn, plain_pixels()).fault.text == "");
}

TEST_CASE("view work: values of masks are those that the file stores, at torch's nearest places") {
  ViewPixels pixels = plain_pixels(1);
  pixels.takes_values = true;
  for (const PngRecipe& recipe :
       {PngRecipe{.width = 40, .height = 30, .color_type = 3, .bits = 4, .has_transparency = true},
        PngRecipe{.width = 40, .height = 30, .color_type = 3},
        PngRecipe{.width = 40, .height = 30, .color_type = 0}}) {
    const std::string image = make_png(recipe);
    const ImageInfo info = probe(image);
    const DecodedPicture decoded = decode_picture(as_bytes(image), info, true, 1 << 20);
    DrawnView drawn = whole_of(info);
    drawn.box = {.x = 5, .y = 3, .width = 31, .height = 26};
    drawn.scaled_width = 19;
    drawn.scaled_height = 52;
    drawn.window = {.x = -2, .y = 1, .width = 12, .height = 50};
    drawn.visible = {.x = 0, .y = 1, .width = 10, .height = 50};
    drawn.is_mirrored = true;
    Elements wanted;
    wanted.reserve(600);
    for (std::uint32_t y = 1; y < 51; ++y) {
      for (std::uint32_t x = 10; x-- > 0;) {
        wanted.push_back(
            static_cast<std::byte>(decoded.picture.row(3 + y * 26 / 52)[5 + x * 31 / 19]));
      }
      wanted.insert(wanted.end(), 2, std::byte{7});
    }
    const WorkedView made = worked(image, drawn, pixels);
    CHECK(made.fault.text == "");
    CHECK((made.elements == wanted));
  }
}

TEST_CASE(
    "view work: images whose values Pillow scales, or that have no single ones, are no masks") {
  ViewPixels pixels = plain_pixels(1);
  pixels.takes_values = true;
  for (const std::string& image :
       {make_png({.color_type = 0, .bits = 1}), make_png({.color_type = 0, .bits = 4}),
        make_png({.color_type = 0, .bits = 16}), make_png({.color_type = 4}), make_png(),
        make_jpeg({.color = JpegColor::gray})}) {
    const ImageInfo info = probe(image);
    CAPTURE(info.color);
    CAPTURE(info.bits);
    CHECK(worked(image, whole_of(info), pixels).fault.code == ImageFaultCode::unsupported);
  }
}

TEST_CASE("view work: settings that contradict each other are refused") {
  const auto is_refused = [](const auto& change) {
    ViewPixels pixels = plain_pixels();
    change(pixels);
    try {
      const ViewWorker worker(pixels);
    } catch (const Error& error) {
      return error.code() == Code::usage;
    }
    return false;
  };
  CHECK_FALSE(is_refused([](ViewPixels&) {}));
  CHECK(is_refused([](ViewPixels& pixels) { pixels.channels = 2; }));
  CHECK(is_refused([](ViewPixels& pixels) { pixels.item_bytes = 8; }));
  CHECK(is_refused([](ViewPixels& pixels) { pixels.item_bytes = 4; }));
  CHECK(is_refused([](ViewPixels& pixels) { pixels.table.resize(767); }));
  CHECK(is_refused([](ViewPixels& pixels) { pixels.fill.resize(2); }));
  CHECK(is_refused([](ViewPixels& pixels) { pixels.takes_values = true; }));
  CHECK(is_refused([](ViewPixels& pixels) {
    pixels.item_bytes = 4;
    pixels.table.resize(768);
  }));
}

TEST_CASE("view work: views that were not drawn of the image, and other memory, are refused") {
  const std::string image = make_png({.width = 20, .height = 10});
  const DrawnView whole = whole_of(probe(image));
  constexpr std::size_t kBytes = 600;
  CHECK(message_of(image, whole, kBytes) == "");
  CHECK(message_of(image, whole, kBytes - 1) ==
        "599 bytes for a view of 20 x 10 pixels, expected 600");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto with = [&](const auto& change) {
    DrawnView drawn = whole;
    change(drawn);
    return message_of(image, drawn, kBytes);
  };
  CHECK(with([](DrawnView& drawn) { drawn.box.x = 1; }) ==
        "a view of 20 x 10 pixels at 1, 0 of an image of 20 x 10");
  CHECK(with([](DrawnView& drawn) { drawn.box.width = 0; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.box.y = 0xFFFFFFFF; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.scaled_width = 0; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.scaled_height = 9; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.visible.x = 1; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.visible.width = 21; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.visible.width = -1; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.window.width = 0; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.window.width = kMost; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.window.x = kMost; }) != "");
  CHECK(with([](DrawnView& drawn) { drawn.window.y = std::numeric_limits<std::int64_t>::min(); }) !=
        "");
}

TEST_CASE("view work: one object serves several threads") {
  const std::vector<std::string> images = taken_images();
  std::mt19937 random(5);
  const ViewPixels pixels = any_pixels(4, random);
  const ViewWorker worker(pixels);
  std::vector<DrawnView> drawn;
  std::vector<Elements> alone;
  for (const std::string& image : images) {
    drawn.push_back(any_drawn(probe(image), random));
    alone.push_back(worked(image, drawn.back(), pixels).elements);
  }
  std::array<bool, 4> are_equal{};
  std::vector<std::thread> threads;
  for (bool& is_equal : are_equal) {
    threads.emplace_back([&] {
      ViewScratch scratch;
      is_equal = true;
      for (std::size_t i = 0; i < images.size(); ++i) {
        Elements elements(worker.size_of(drawn[i]));
        const ImageFault fault =
            worker.run(as_bytes(images[i]), probe(images[i]), drawn[i], elements, scratch);
        is_equal = is_equal && fault.empty() && elements == alone[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool is_equal : are_equal) CHECK(is_equal);
}

}  // namespace shale::test
