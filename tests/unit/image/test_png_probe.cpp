#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {

TEST_CASE("png probe: size, color, bits and oddities of every kind") {
  struct Row {
    PngRecipe recipe;
    std::string_view color;
    Odd odd;
  };
  const Row rows[] = {
      {{.color_type = 0, .bits = 1}, "bilevel", {"gray"}},
      {{.color_type = 0, .bits = 4}, "gray", {"gray"}},
      {{.color_type = 0, .bits = 16}, "gray", {"gray", "sixteen-bit"}},
      {{.color_type = 0, .bits = 8, .has_transparency = true}, "gray", {"alpha", "gray"}},
      {{.color_type = 2, .bits = 8}, "rgb", {}},
      {{.color_type = 2, .bits = 16, .is_interlaced = true}, "rgb", {"sixteen-bit"}},
      {{.color_type = 3, .bits = 2}, "palette", {"palette"}},
      {{.color_type = 3, .bits = 8, .has_transparency = true}, "palette", {"alpha", "palette"}},
      {{.color_type = 4, .bits = 8}, "gray-alpha", {"alpha", "gray"}},
      {{.color_type = 6, .bits = 8}, "rgba", {"alpha"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.color);
    const ImageInfo info = probe(make_png(row.recipe), "x.png");
    CHECK(name_of(info.type) == "png");
    CHECK(info.width == 23);
    CHECK(info.height == 17);
    CHECK(info.color == row.color);
    CHECK(info.bits == static_cast<unsigned>(row.recipe.bits));
    CHECK(info.odd == row.odd);
    CHECK(info.fault.empty());
  }
}

TEST_CASE("png probe: every proper prefix is a fault") {
  const std::string png = make_png();
  for (std::size_t length = 0; length < png.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(probe(png.substr(0, length)).fault.empty());
  }
}

TEST_CASE("png probe: a cut is told with both numbers") {
  const std::string png = make_png();
  const std::size_t end_chunk = png.size() - 12;

  CHECK(probe(png.substr(0, 20)).fault.text == "is truncated: 20 bytes, its header says 33");
  CHECK(probe(png.substr(0, 60)).fault.text ==
        "is truncated: 60 bytes, its PNG chunk at byte 33 says " + std::to_string(end_chunk) +
            " or more");
  CHECK(probe(png.substr(0, end_chunk)).fault.text ==
        "is truncated: PNG of " + std::to_string(end_chunk) + " bytes without IEND chunk");
}

TEST_CASE("png probe: bytes after the end are odd") {
  CHECK(probe(make_png() + "x").odd == Odd{"trailing-bytes"});
}

TEST_CASE("png probe: the orientation of an eXIf chunk counts") {
  const std::string png = make_png({.extra_chunk = "eXIf", .extra_payload = exif_block(8, false)});

  CHECK(probe(png).orientation == 8);
  CHECK(probe(png).odd == Odd{"exif-rotated"});
}

TEST_CASE("png probe: headers that make no image") {
  const std::string png = make_png();

  CHECK(probe(patched(png, 12, "JHDR")).fault.text ==
        "is damaged: PNG header: its first chunk is not an IHDR of 13 bytes");
  CHECK(probe(patched(png, 16, be(0, 4))).fault.text == "has no pixels: its header says 0 x 17");
  CHECK(probe(patched(png, 24, "\x03")).fault.text ==
        "is damaged: PNG header: color type 2 with 3 bits");
  CHECK(probe(patched(png, 25, "\x07")).fault.text ==
        "is damaged: PNG header: color type 7 with 8 bits");
  CHECK(probe(png.substr(0, 33) + png.substr(png.size() - 12)).fault.text ==
        "has no pixels: PNG of 45 bytes without IDAT chunk");
}

}  // namespace shale::test
