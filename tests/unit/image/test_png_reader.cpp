#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/image/rgb.hpp"

#include "tests/support/temp_dir.hpp"
#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

constexpr std::uint64_t kLimit = 1 << 20;

// Bytes that end where their memory ends.
std::vector<std::byte> decoded(std::string_view content, std::uint64_t limit_bytes = kLimit) {
  const std::vector<char> exact(content.begin(), content.end());
  std::vector<std::byte> pixels;
  const auto room = [&](ImageExtent extent) {
    pixels.resize(std::size_t{3} * extent.width * extent.height);
    return std::span(pixels);
  };
  const bool is_png = decode_png_rgb(as_bytes({exact.data(), exact.size()}), limit_bytes, room);
  REQUIRE(is_png);
  return pixels;
}

}  // namespace

TEST_CASE("png rgb: every kind of PNG becomes as many pixels as it has, interlaced or not") {
  for (const auto& type : std::vector<std::pair<int, int>>{{0, 1},
                                                           {0, 2},
                                                           {0, 4},
                                                           {0, 8},
                                                           {2, 8},
                                                           {2, 16},
                                                           {3, 1},
                                                           {3, 8},
                                                           {4, 8},
                                                           {4, 16},
                                                           {6, 8},
                                                           {6, 16}}) {
    for (const bool is_interlaced : {false, true}) {
      CAPTURE(type.first);
      CAPTURE(type.second);
      const PngRecipe recipe{
          .color_type = type.first, .bits = type.second, .is_interlaced = is_interlaced};
      CHECK(decoded(make_png(recipe)).size() == 3 * recipe.width * recipe.height);
    }
  }
}

TEST_CASE("png rgb: interlacing changes no pixel") {
  CHECK(decoded(make_png({.is_interlaced = true})) == decoded(make_png({.is_interlaced = false})));
}

TEST_CASE("png rgb: the extent is known before any pixel, room of another size is a bug") {
  const std::string png = make_png();
  ImageExtent found;
  std::vector<std::byte> pixels(5);
  const auto room = [&](ImageExtent extent) {
    found = extent;
    return std::span(pixels);
  };
  CHECK(error_of([&] { (void)decode_png_rgb(as_bytes(png), kLimit, room); }).code() == Code::bug);
  CHECK(found.width == 23);
  CHECK(found.height == 17);
}

TEST_CASE("png rgb: what is not a PNG is not tried") {
  const auto no_room = [](ImageExtent) -> std::span<std::byte> {
    throw Error(Code::bug, "asked for room");
  };
  CHECK_FALSE(decode_png_rgb(as_bytes(make_jpeg()), kLimit, no_room));
  CHECK_FALSE(decode_png_rgb({}, kLimit, no_room));
}

TEST_CASE("png rgb: every proper prefix and every changed byte of a PNG is an error") {
  const std::string png = make_png();
  for (std::size_t at = 8; at < png.size(); ++at) {
    CAPTURE(at);
    CHECK(error_of([&] { (void)decoded(png.substr(0, at)); }).code() == Code::bad_content);
    CHECK(error_of([&] {
            (void)decoded(patched(png, at, std::string(1, static_cast<char>(png[at] ^ 0x20))));
          }).code() == Code::bad_content);
  }
}

TEST_CASE("png rgb: what is not decoded is refused by name") {
  const Error error = error_of([] { (void)decoded(make_png({.color_type = 0, .bits = 16})); });
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message().find("16 bits") != std::string::npos);
  CHECK(error_of([] { (void)decoded(make_png(), 23 * 17 * 3 - 1); }).code() == Code::bad_content);
}

}  // namespace shale::test
