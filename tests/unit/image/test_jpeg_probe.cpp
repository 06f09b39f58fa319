#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {
TEST_CASE("jpeg probe: size, color and oddities of every kind") {
  struct Row {
    JpegRecipe recipe;
    std::string_view color;
    Odd odd;
  };
  const Row rows[] = {
      {{.color = JpegColor::gray}, "gray", {"gray"}},
      {{.color = JpegColor::ycc, .is_subsampled = true}, "ycc", {}},
      {{.color = JpegColor::ycc, .is_subsampled = false}, "ycc", {}},
      {{.color = JpegColor::ycc, .is_progressive = true}, "ycc", {}},
      {{.color = JpegColor::rgb}, "rgb", {}},
      {{.color = JpegColor::cmyk}, "cmyk", {"cmyk"}},
      {{.color = JpegColor::ycck}, "ycck", {"cmyk"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.color);
    const ImageInfo info = probe(make_jpeg(row.recipe), "x.JPEG");
    CHECK(name_of(info.type) == "jpeg");
    CHECK(info.width == 48);
    CHECK(info.height == 40);
    CHECK(info.color == row.color);
    CHECK(info.bits == 8);
    CHECK(info.odd == row.odd);
    CHECK(info.fault.empty());
  }
}

TEST_CASE("jpeg probe: every proper prefix is a fault") {
  for (const bool is_progressive : {false, true}) {
    const std::string jpeg =
        with_exif(make_jpeg({.is_progressive = is_progressive}), exif_block(6, false));
    for (std::size_t length = 0; length < jpeg.size(); ++length) {
      CAPTURE(length);
      CHECK_FALSE(probe(jpeg.substr(0, length)).fault.empty());
    }
  }
}

TEST_CASE("jpeg probe: a cut image is told from a cut header") {
  const std::string jpeg = make_jpeg();
  const std::size_t size = jpeg.size();

  CHECK(probe(jpeg.substr(0, size - 2)).fault.text ==
        "is truncated: JPEG without end-of-image marker, " + std::to_string(size - 2) + " bytes");
  CHECK(probe(jpeg.substr(0, 10)).fault.text ==
        "is truncated: 10 bytes, its JPEG segment at byte 2 says 20 or more");
  CHECK(probe(jpeg.substr(0, 20)).fault.text ==
        "is truncated: JPEG header of 20 bytes without start of scan");
}

TEST_CASE("jpeg probe: bytes after the end are odd, even if they hold a second image") {
  CHECK(probe(make_jpeg() + "tail").odd == Odd{"trailing-bytes"});
  CHECK(probe(make_jpeg() + make_jpeg() + std::string(100, '\0')).odd == Odd{"trailing-bytes"});
}

TEST_CASE("jpeg probe: an end-of-image marker inside of the header is not the end") {
  const std::string jpeg = make_jpeg();
  const std::string comment = "\xFF\xFE" + be(6, 2) + "\xFF\xD9xx";
  const std::string whole = jpeg.substr(0, 2) + comment + jpeg.substr(2);

  CHECK(probe(whole).fault.empty());
  CHECK(probe(whole.substr(0, whole.size() - 2))
            .fault.text.starts_with("is truncated: JPEG without end-of-image"));
}

TEST_CASE("jpeg probe: headers that make no image") {
  const std::string jpeg = make_jpeg();
  const std::size_t frame = frame_of(jpeg), scan = jpeg.find("\xFF\xDA");

  CHECK(probe("\xFF\xD8\xFF\xD9").fault.text ==
        "has no pixels: JPEG ends at byte 4 before any scan");
  CHECK(probe("\xFF\xD8" + jpeg.substr(scan))
            .fault.text.starts_with("is damaged: JPEG header: scan at byte"));
  CHECK(probe(patched(jpeg, frame + 5, be(0, 2))).fault.text ==
        "has no pixels: its header says 48 x 0");
  CHECK(probe(patched(jpeg, frame + 2, be(1, 2)))
            .fault.text.starts_with("is damaged: JPEG header: segment of 1"));
  CHECK(
      probe(patched(jpeg, frame + 11, "\x77")).fault.text.starts_with("is damaged: JPEG header: "));
}

TEST_CASE("jpeg probe: twelve bits are odd, not a fault, though libjpeg-turbo cannot decode them") {
  const std::string jpeg = make_jpeg({.color = JpegColor::gray});
  const std::string deep = patched(jpeg, frame_of(jpeg) + 4, "\x0C");

  const ImageInfo info = probe(deep);

  CHECK(info.bits == 12);
  CHECK(info.width == 48);
  CHECK(info.color == "gray");
  CHECK(info.odd == Odd{"gray", "sixteen-bit"});
  CHECK(info.fault.empty());
}

TEST_CASE("jpeg probe: stray and fill bytes between segments are passed over") {
  const std::string jpeg = make_jpeg();
  const std::size_t scan = jpeg.find("\xFF\xDA");

  for (const std::string_view stray :
       {std::string_view("\xFF\xFF\xFF"), std::string_view("ab\xFF\0", 4)}) {
    const ImageInfo info = probe(jpeg.substr(0, scan) + std::string(stray) + jpeg.substr(scan));
    CHECK(info.fault.empty());
    CHECK(info.odd.empty());
  }
}

TEST_CASE("jpeg probe: one image's tables do not leak into the next") {
  const std::string jpeg = make_jpeg();

  CHECK_FALSE(probe(patched(jpeg, frame_of(jpeg) + 11, "\x77")).fault.empty());
  CHECK(probe(jpeg).fault.empty());
  CHECK(probe(make_jpeg({.width = 9, .height = 5, .color = JpegColor::gray})).color == "gray");
}

}  // namespace shale::test
