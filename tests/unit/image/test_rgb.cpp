#include <cstdio>  // jpeglib.h needs FILE and does not include it
#include <optional>
#include <utility>

#include <doctest/doctest.h>
#include <jpeglib.h>

#include "shale/base/error.hpp"
#include "shale/image/rgb.hpp"

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

constexpr std::uint64_t kLimitBytes = 1 << 20;
using Pixels = std::vector<unsigned char>;

// Copies both sides to memory that ends where they end, so that AddressSanitizer sees any step
// beyond.
Pixels pixels_of(std::string_view jpeg, PixelOrder order = PixelOrder::hwc) {
  const std::vector<char> exact(jpeg.begin(), jpeg.end());
  std::optional<RgbDecoder> decoder =
      RgbDecoder::open(as_bytes({exact.data(), exact.size()}), kLimitBytes);
  if (!decoder) return {};
  Pixels pixels(decoder->size(), 0xEE);
  std::move(*decoder).decode(order, std::as_writable_bytes(std::span(pixels)));
  return pixels;
}

std::optional<Error> error_in(std::string_view jpeg) {
  try {
    (void)pixels_of(jpeg);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

unsigned char light(unsigned stored_ink, unsigned stored_black) {
  const double part = (255.0 - stored_ink) * stored_black / 255.0;
  return static_cast<unsigned char>(stored_black - static_cast<unsigned>(part + 0.5));
}

// What libjpeg gives to one who asks for nothing special and reads row by row.
Pixels plain_pixels_of(const std::string& jpeg) {
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};  // the default one: ends the test with libjpeg's message
  state.err = jpeg_std_error(&errors);
  errors.output_message = [](j_common_ptr) {};  // warnings
  jpeg_create_decompress(&state);
  jpeg_mem_src(&state, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  jpeg_read_header(&state, TRUE);
  const bool is_cmyk = state.num_components == 4;
  if (!is_cmyk) state.out_color_space = JCS_RGB;
  jpeg_start_decompress(&state);
  Pixels row(std::size_t{state.output_width} * static_cast<unsigned>(state.output_components));
  Pixels pixels;
  while (state.output_scanline < state.output_height) {
    JSAMPROW rows[] = {row.data()};
    jpeg_read_scanlines(&state, rows, 1);
    if (!is_cmyk) pixels.insert(pixels.end(), row.begin(), row.end());
    for (std::size_t x = 0; is_cmyk && x < row.size(); x += 4) {
      for (std::size_t i = x; i < x + 3; ++i) pixels.push_back(light(row[i], row[x + 3]));
    }
  }
  jpeg_finish_decompress(&state);
  jpeg_destroy_decompress(&state);
  return pixels;
}

Pixels planes_of(const Pixels& hwc) {
  Pixels planes(hwc.size());
  const std::size_t plane = hwc.size() / 3;
  for (std::size_t i = 0; i < hwc.size(); ++i) planes[i % 3 * plane + i / 3] = hwc[i];
  return planes;
}

std::vector<JpegRecipe> all_kinds() {
  std::vector<JpegRecipe> recipes = {
      {.color = JpegColor::gray},
      {.color = JpegColor::rgb},
      {.color = JpegColor::cmyk},
      {.color = JpegColor::ycck},
      {.color = JpegColor::ycck, .is_subsampled = false},
      {.color = JpegColor::cmyk, .is_progressive = true},
      {.color = JpegColor::gray, .is_progressive = true},
      {.is_one_scan_a_channel = true},
      {.is_subsampled = false},
      {.is_subsampled = false, .is_progressive = true},
      {.is_progressive = true},
      {.luma_columns = 2, .luma_rows = 1},
      {.luma_columns = 1, .luma_rows = 2},
      {.luma_columns = 4, .luma_rows = 1},
  };
#ifdef D_ARITH_CODING_SUPPORTED  // a choice of who built libjpeg-turbo
  recipes.push_back({.is_arithmetic = true});
#endif
  return recipes;
}

}  // namespace

TEST_CASE("rgb: pixels of every kind of JPEG are those that libjpeg gives row by row") {
  for (JpegRecipe recipe : all_kinds()) {
    CAPTURE(static_cast<int>(recipe.color));
    CAPTURE(recipe.luma_columns);
    CAPTURE(recipe.luma_rows);
    CAPTURE(recipe.is_progressive);
    recipe.rows_differ = true;
    recipe.width = 67;  // not a multiple of anything, more rows than a stripe
    recipe.height = 53;
    const std::string jpeg = make_jpeg(recipe);
    const Pixels expected = plain_pixels_of(jpeg);

    CHECK((pixels_of(jpeg, PixelOrder::hwc) == expected));
    CHECK((pixels_of(jpeg, PixelOrder::chw) == planes_of(expected)));
  }
}

TEST_CASE("rgb: every small size decodes in both orders") {
  for (const JpegColor color : {JpegColor::gray, JpegColor::ycc, JpegColor::cmyk}) {
    for (unsigned width = 1; width <= 17; ++width) {
      for (unsigned height = 1; height <= 17; ++height) {
        CAPTURE(width);
        CAPTURE(height);
        const std::string jpeg =
            make_jpeg({.width = width, .height = height, .color = color, .rows_differ = true});
        const Pixels expected = plain_pixels_of(jpeg);
        REQUIRE(expected.size() == 3 * width * height);
        CHECK((pixels_of(jpeg, PixelOrder::hwc) == expected));
        CHECK((pixels_of(jpeg, PixelOrder::chw) == planes_of(expected)));
      }
    }
  }
}

TEST_CASE("rgb: the header tells the extent before any pixel is decoded") {
  const std::string jpeg = make_jpeg({.width = 31, .height = 7});
  const std::optional<RgbDecoder> decoder = RgbDecoder::open(as_bytes(jpeg), kLimitBytes);

  REQUIRE(decoder);
  CHECK(decoder->extent().width == 31);
  CHECK(decoder->extent().height == 7);
  CHECK(decoder->size() == 3 * 31 * 7);
}

TEST_CASE("rgb: what is no JPEG is not tried") {
  for (const std::string& other : {std::string(), make_png(), std::string("\xFF\xD8")}) {
    CHECK_FALSE(RgbDecoder::open(as_bytes(other), kLimitBytes));
  }
}

TEST_CASE("rgb: a JPEG cut at any byte is an error that says so") {
  for (const bool is_progressive : {false, true}) {
    const std::string jpeg =
        make_jpeg({.width = 16, .height = 16, .is_progressive = is_progressive});
    for (std::size_t length = 3; length < jpeg.size(); ++length) {
      CAPTURE(length);
      const std::optional<Error> error = error_in(jpeg.substr(0, length));
      REQUIRE(error);
      CHECK(error->code() == Code::bad_content);
      CHECK(error->cause() == "Premature end of JPEG file");
    }
  }
}

TEST_CASE(
    "rgb: with all pixels there, bytes instead of the end-of-image marker must not be damage") {
  const std::string jpeg = make_jpeg(), endless = jpeg.substr(0, jpeg.size() - 2);

  CHECK((pixels_of(endless + std::string(200, 'x')) == pixels_of(jpeg)));
  CHECK(error_in(endless + "\xFF\xDB" + be(3, 2) + "\x77")->cause() == "Bogus DQT index 7");
}

TEST_CASE("rgb: any bit of a JPEG may flip, the answer is pixels or a clear error") {
  for (const JpegRecipe& kind : all_kinds()) {
    JpegRecipe recipe = kind;
    recipe.width = recipe.height = 9;
    std::string jpeg = make_jpeg(recipe);
    for (std::size_t bit = 24; bit < 8 * jpeg.size(); ++bit) {
      CAPTURE(bit);
      const auto mask = static_cast<char>(1 << bit % 8);
      jpeg[bit / 8] ^= mask;
      const std::optional<Error> error = error_in(jpeg);
      if (error) CHECK(error->code() == Code::bad_content);
      jpeg[bit / 8] ^= mask;
    }
  }
}

TEST_CASE("rgb: damage that libjpeg patches over still gives pixels") {
  const std::string jpeg = make_jpeg();
  const std::string hollow = jpeg.substr(0, jpeg.size() - 40) + "\xFF\xD9";

  CHECK_FALSE(decode(hollow, ImageType::jpeg).fault.empty());
  CHECK((pixels_of(hollow) == plain_pixels_of(hollow)));
}

TEST_CASE("rgb: bytes after the end of the image do not matter") {
  const std::string jpeg = make_jpeg();
  CHECK((pixels_of(jpeg + make_jpeg({.width = 8, .height = 8}) + "tail") == pixels_of(jpeg)));
}

TEST_CASE("rgb: tables in a stream of their own before the image are taken") {
  const std::string jpeg = make_jpeg();
  const std::size_t frame = frame_of(jpeg);
  const std::string tables = jpeg.substr(0, frame) + "\xFF\xD9";

  CHECK((pixels_of(tables + "\xFF\xD8" + jpeg.substr(frame)) == pixels_of(jpeg)));
  CHECK(error_in(tables)->cause() == "Premature end of JPEG file");
}

TEST_CASE("rgb: an image without its tables does not get those of the image before") {
  const std::string jpeg = make_jpeg();
  REQUIRE_FALSE(pixels_of(jpeg).empty());

  const std::optional<Error> error = error_in("\xFF\xD8" + jpeg.substr(frame_of(jpeg)));

  REQUIRE(error);
  CHECK(error->cause() == "Quantization table 0x00 was not defined");
}

TEST_CASE("rgb: an image that takes more memory than allowed is refused with both numbers") {
  const std::string jpeg = make_jpeg();
  const std::string vast = patched(jpeg, frame_of(jpeg) + 5, "\xFF\xDC\xFF\xDC");
  CHECK(error_in(vast)->message() ==
        "JPEG of 65500 x 65500 is 12870750000 bytes of RGB pixels, more than the limit of 1048576");

  const std::string deep =
      make_jpeg({.width = 550, .height = 550, .is_subsampled = false, .is_progressive = true});
  CHECK(error_in(deep)->message() ==
        "decoding a JPEG of 550 x 550 takes more than the 1048576 bytes allowed");
}

TEST_CASE("rgb: JPEGs that make no RGB here are refused") {
  const std::string gray = make_jpeg({.color = JpegColor::gray});
  const std::size_t frame = frame_of(gray);

  CHECK(error_in(patched(gray, frame + 4, "\x0C"))->cause() ==
        "Unsupported JPEG data precision 12");
  CHECK(
      error_in(patched(gray, frame, "\xFF\xC3"))->cause().starts_with("Unsupported JPEG process"));
}

TEST_CASE("rgb: thousands of empty scans are not walked") {
  const std::string jpeg = make_jpeg({.is_progressive = true});
  const std::size_t scan = jpeg.find("\xFF\xDA"), next = jpeg.find("\xFF", scan + 12);
  std::string bomb = jpeg.substr(0, scan);
  for (int i = 0; i < 600; ++i) bomb += jpeg.substr(scan, next - scan);

  CHECK(error_in(bomb + "\xFF\xD9")->cause() == "more than 500 scans");
}

TEST_CASE("rgb: the larger an image, the fewer scans of it are walked, but never too few") {
  const std::string jpeg = make_jpeg({.color = JpegColor::gray, .is_progressive = true});
  const std::size_t scan = jpeg.find("\xFF\xDA"), next = jpeg.find("\xFF", scan + 12);
  const auto fault_of = [&](const std::string& side, std::uint64_t limit_bytes) {
    std::string bomb = patched(jpeg, frame_of(jpeg) + 5, side + side).substr(0, scan);
    for (int i = 0; i < 200; ++i) bomb += jpeg.substr(scan, next - scan);
    bomb += "\xFF\xD9";
    try {
      auto decoder = RgbDecoder::open(as_bytes(bomb), limit_bytes);
      std::vector<std::byte> room(decoder.value().size());
      std::move(*decoder).decode(PixelOrder::hwc, room);
    } catch (const Error& error) {
      return error.cause();
    }
    return std::string();
  };

  CHECK(fault_of("\x07\xD0", 64 << 20) == "");                     // 2000 x 2000
  CHECK(fault_of("\x0B\xB8", 64 << 20) == "more than 119 scans");  // 3000 x 3000
  CHECK(fault_of("\x1B\x58", 256 << 20) == "more than 24 scans");  // 7000 x 7000
}

TEST_CASE("rgb: room of another size is a bug of the caller") {
  const std::string jpeg = make_jpeg({.width = 4, .height = 4});
  std::vector<std::byte> room(3 * 4 * 4 + 1);

  CHECK_THROWS_AS(
      RgbDecoder::open(as_bytes(jpeg), kLimitBytes).value().decode(PixelOrder::hwc, room), Error);
}

}  // namespace shale::test
