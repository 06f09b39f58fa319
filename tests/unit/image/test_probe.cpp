#include <random>

#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {

TEST_CASE("image suffix: torchvision's extensions and the others of JPEG count, in any case") {
  for (const std::string_view name : {"a.jpg", "a.JPEG", "a.Png", "b/a.ppm", "a.bmp", "a.pgm",
                                      "a.tif", "a.TIFF", "a.webp", ".jpg", "a.jpe", "a.JFIF"}) {
    CAPTURE(name);
    CHECK(has_image_suffix(name));
  }
  for (const std::string_view name :
       {"", "jpg", "a.gif", "a.pbm", "a.jpg.txt", "a.jpg~", "README.txt", ".DS_Store", "a.jp2"}) {
    CAPTURE(name);
    CHECK_FALSE(has_image_suffix(name));
  }
}

TEST_CASE("suffix: fits the types it names, and every type if it names none") {
  CHECK(suffix_fits("n01/x.JPEG", ImageType::jpeg));
  CHECK(suffix_fits("x.pgm", ImageType::pnm));
  CHECK(suffix_fits("x.tif", ImageType::tiff));
  CHECK_FALSE(suffix_fits("x.JPEG", ImageType::png));
  CHECK_FALSE(suffix_fits("x.png", ImageType::jpeg));
  CHECK(suffix_fits("x", ImageType::png));
  CHECK(suffix_fits("x.bin", ImageType::gif));
}

TEST_CASE("probe: empty and foreign bytes are faults of unknown type") {
  CHECK(probe("").fault.text == "is empty");
  for (const std::string_view content :
       {"P", "BM", "BMW is a maker of cars, not of images", "PNG", "\xFF\xD8", "GIF88a", "<html>",
        "RIFF1234WAVE", "P7\nWIDTH 4", "P3x"}) {
    CAPTURE(content);
    const ImageInfo info = probe(content, "x.jpg");
    CHECK(info.type == ImageType::unknown);
    CHECK(info.fault.text == "is not an image of a known type");
    CHECK(info.odd.empty());
  }
}

TEST_CASE("probe: what is wrong has a code, and words that begin alike") {
  struct Row {
    std::string content;
    std::string_view reason, begins;
  };
  const Row rows[] = {
      {"", "empty", "is empty"},
      {"<html>", "unknown-type", "is not an image of a known type"},
      {make_jpeg().substr(0, 100), "truncated", "is truncated: "},
      {"\xFF\xD8\xFF\xD9", "no-pixels", "has no pixels: "},
      {patched(make_png(), 12, "JHDR"), "damaged", "is damaged: "},
      {make_png(), "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    const ImageFault fault = probe(row.content).fault;
    CHECK(name_of(fault.code) == row.reason);
    CHECK(fault.text.starts_with(row.begins));
    CHECK(fault.empty() == row.reason.empty());
  }
}

TEST_CASE("probe: a wrong suffix is odd") {
  CHECK(probe(make_png(), "x.JPEG").odd == Odd{"wrong-suffix"});
  CHECK(probe(make_png(), "x.png").odd.empty());
  CHECK(probe(make_jpeg(), "x.png").odd == Odd{"wrong-suffix"});
}

TEST_CASE("probe: oddities come sorted") {
  const std::string png = make_png(
      {.color_type = 4, .bits = 16, .extra_chunk = "eXIf", .extra_payload = exif_block(3, true)});

  CHECK(probe(png + "tail", "x.jpg").odd ==
        Odd{"alpha", "exif-rotated", "gray", "sixteen-bit", "trailing-bytes", "wrong-suffix"});
}

TEST_CASE("probe and decode: bytes changed at random never break anything") {
  constexpr std::uint32_t kSeed = 20'240'607;
  MESSAGE("seed " << kSeed);
  std::mt19937 random(kSeed);
  const std::string originals[] = {
      make_jpeg(), make_jpeg({.color = JpegColor::ycck, .is_progressive = true}),
      with_exif(make_jpeg({.color = JpegColor::gray}), exif_block(6, true)), make_png(),
      make_png({.color_type = 3, .is_interlaced = true, .has_transparency = true})};
  for (const std::string& original : originals) {
    for (int round = 0; round < 400; ++round) {
      std::string content = original;
      for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
        // Half of the changes hit the header, where the structure is.
        const std::size_t range =
            random() % 2 == 0 ? content.size() : std::min<std::size_t>(content.size(), 200);
        content[random() % range] = static_cast<char>(random());
      }
      const ImageInfo info = probe(content, "x.jpg");
      (void)decode(content, info.type, 16 << 20);
    }
  }
}

}  // namespace shale::test
