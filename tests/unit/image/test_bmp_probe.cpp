#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

struct BmpRecipe {
  int width = 5, height = 3, bits = 24;
  unsigned compression = 0, colors = 0;
  std::string table = {}, pixels = {};
  unsigned claimed_size = 0;  // most writers tell the truth, some leave 0
};
std::string make_bmp(const BmpRecipe& bmp) {
  const std::size_t begin = 54 + bmp.table.size();
  return "BM" + le(bmp.claimed_size, 4) + le(0, 4) + le(begin, 4) + le(40, 4) +
         le(static_cast<unsigned>(bmp.width), 4) + le(static_cast<unsigned>(bmp.height), 4) +
         le(1, 2) + le(static_cast<unsigned>(bmp.bits), 2) + le(bmp.compression, 4) + le(0, 12) +
         le(bmp.colors, 4) + le(0, 4) + bmp.table + bmp.pixels;
}

std::string table_of(int colors, int step) {
  std::string table;
  for (int i = 0; i < colors; ++i) {
    table += std::string(3, static_cast<char>(i * step)) + '\0';
  }
  return table;
}

}  // namespace

TEST_CASE("bmp probe: color and size, whichever row comes first") {
  for (const int height : {3, -3}) {
    const ImageInfo info =
        probe(make_bmp({.height = height, .pixels = std::string(48, 'x')}), "x.bmp");
    CHECK(name_of(info.type) == "bmp");
    CHECK(info.width == 5);
    CHECK(info.height == 3);
    CHECK(info.color == "rgb");
    CHECK(info.odd.empty());
    CHECK(info.fault.empty());
  }
}

TEST_CASE("bmp probe: a color table that is a gray ramp makes a gray image") {
  const std::string pixels(24, '\0');

  CHECK(probe(make_bmp({.bits = 8, .table = table_of(256, 1), .pixels = pixels})).odd ==
        Odd{"gray"});
  CHECK(probe(make_bmp({.bits = 1, .table = table_of(2, 255), .pixels = pixels})).color ==
        "bilevel");
  CHECK(probe(make_bmp({.bits = 8, .table = table_of(256, 3), .pixels = pixels})).odd ==
        Odd{"palette"});
}

TEST_CASE("bmp probe: the pixels' own size decides, a wrong file size in the header does not") {
  const std::string pixels(48, 'x');
  for (const unsigned claimed : {0U, 102U, 5000U}) {
    CAPTURE(claimed);
    const std::string bmp = make_bmp({.pixels = pixels, .claimed_size = claimed});
    CHECK(probe(bmp).fault.empty());
    CHECK(probe(bmp.substr(0, 101)).fault.text == "is truncated: 101 bytes, its header says 102");
  }
  CHECK(probe(make_bmp({.pixels = pixels + "xx"})).odd == Odd{"trailing-bytes"});
  CHECK(probe(make_bmp({.pixels = pixels + "xx", .claimed_size = 104})).odd.empty());
}

TEST_CASE("bmp probe: run-length coded pixels are followed to their end") {
  const std::string runs = std::string("\5a\0\0\0\3abc\0\2b\0\0\5a", 16);
  const std::string end("\0\1", 2);
  const BmpRecipe recipe{
      .bits = 8, .compression = 1, .table = table_of(256, 3), .pixels = runs + end};

  CHECK(probe(make_bmp(recipe)).fault.empty());
  const std::string cut = make_bmp(recipe).substr(0, 54 + 1024 + 6);
  CHECK(probe(cut).fault.text.starts_with("is truncated: 1084 bytes, its header says "));
}

TEST_CASE("bmp probe: the short header of OS/2 is read") {
  const std::string bmp = "BM" + le(0, 8) + le(26, 4) + le(12, 4) + le(5, 2) + le(3, 2) + le(1, 2) +
                          le(24, 2) + std::string(48, 'x');

  CHECK(probe(bmp).width == 5);
  CHECK(probe(bmp).height == 3);
  CHECK(probe(bmp).fault.empty());
  CHECK(probe(bmp.substr(0, 20)).fault.text == "is truncated: 20 bytes, its header says 26");
}

TEST_CASE("bmp probe: headers that make no image") {
  CHECK(probe(make_bmp({.width = 0})).fault.text == "has no pixels: its header says 0 x 3");
  CHECK(probe(make_bmp({.width = -5})).fault.text == "has no pixels: its header says 0 x 3");
  CHECK(probe(make_bmp({.bits = 7})).fault.text == "is damaged: BMP header: 7 bits a pixel");
  CHECK(probe(make_bmp({.width = 2147483647, .height = -2147483647 - 1, .bits = 32})).fault.text ==
        "is truncated: 54 bytes, its header says 18446744065119617078");
}

}  // namespace shale::test
