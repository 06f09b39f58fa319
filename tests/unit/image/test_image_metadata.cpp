#include <doctest/doctest.h>

#include "shale/image/header_facts.hpp"

#include "unit/image/image_samples.hpp"

namespace shale::test {

TEST_CASE("exif: the orientation of both byte orders, 1 for what is none") {
  for (const bool is_big_endian : {false, true}) {
    for (unsigned stored = 0; stored <= 9; ++stored) {
      CAPTURE(stored);
      const unsigned expected = stored == 0 || stored == 9 ? 1 : stored;
      const ImageInfo info = probe(with_exif(make_jpeg(), exif_block(stored, is_big_endian)));
      CHECK(info.orientation == expected);
      CHECK(info.odd == (expected == 1 ? Odd{} : Odd{"exif-rotated"}));
    }
  }
}

TEST_CASE("exif: a block cut anywhere is read as far as it goes") {
  const std::string exif = exif_block(6, true);
  for (std::size_t length = 0; length < exif.size(); ++length) {
    CAPTURE(length);
    const unsigned orientation = exif_orientation(as_bytes(exif).first(length));
    CHECK((orientation == 1 || orientation == 6));
  }
}

TEST_CASE("exif: the prefix of a JPEG segment may stand before the block") {
  CHECK(exif_orientation(as_bytes(std::string("Exif\0\0", 6) + exif_block(8, false))) == 8);
  CHECK(exif_orientation(as_bytes(exif_block(8, false))) == 8);
}

}  // namespace shale::test
