#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {

TEST_CASE("pnm probe: all six kinds") {
  struct Row {
    std::string_view content, color;
    Odd odd;
  };
  const Row rows[] = {
      {"P1 3 2 101\n0 1 1\n", "bilevel", {"gray"}},
      {"P2\n3 2\n255\n1 2 3 4 5 6", "gray", {"gray"}},
      {"P3 3 2 255 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 255\n", "rgb", {}},
      {"P4 3 2 ab", "bilevel", {"gray"}},
      {"P5 3 2 255 abcdef", "gray", {"gray"}},
      {"P5 3 2 256 abcdefabcdef", "gray", {"gray", "sixteen-bit"}},
      {"P6 3 2 255 abcdefabcdefabcdef", "rgb", {}},
      {"P6#a\n3#5\n 2 #\n255\nabcdefabcdefabcdef", "rgb", {}},
      {"P6 3 2 255 abcdefabcdefabcdefP6", "rgb", {"trailing-bytes"}},
      {"P2 3 2 255 1 2 3 4 5 6 x", "gray", {"gray", "trailing-bytes"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.content);
    const ImageInfo info = probe(row.content, "x.ppm");
    CHECK(name_of(info.type) == "pnm");
    CHECK(info.width == 3);
    CHECK(info.height == 2);
    CHECK(info.color == row.color);
    CHECK(info.odd == row.odd);
    CHECK(info.fault.empty());
  }
}

TEST_CASE("pnm probe: what is missing is told with both numbers") {
  struct Row {
    std::string_view content, fault;
  };
  const Row rows[] = {
      {"P6 3 2 255 abcdefabcdefabcde", "is truncated: 28 bytes, its header says 29"},
      {"P4 9 2 abc", "is truncated: 10 bytes, its header says 11"},
      {"P2 3 2 255 1 2 3 4 5", "is truncated: 5 levels of pixels, its header says 6"},
      {"P1 3 2 10110", "is truncated: 5 levels of pixels, its header says 6"},
      {"P5 3 2 2", "is truncated: PNM header does not end within 8 bytes"},
      {"P5 3", "is truncated: PNM header does not end within 4 bytes"},
      {"P5 3 x", "is damaged: PNM header: no number at byte 5"},
      {"P5 0 2 255 ", "has no pixels: its header says 0 x 2"},
      {"P5 3 2 65536 ", "is damaged: PNM header: largest level 65536, at most 65535"},
      {"P6 99999999999999999999999 2 255 ",
       "is damaged: PNM header: 18446744073709551615 x 2 pixels"},
      {"P6 2147483647 2147483647 65535 ",
       "is truncated: 31 bytes, its header says 18446744073709551615"},
      {"P2 3 2 255 1 2 x", "is damaged: PNM without a level at byte 15"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.content);
    CHECK(probe(row.content).fault.text == row.fault);
  }
}

}  // namespace shale::test
