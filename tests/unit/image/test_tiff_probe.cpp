#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

struct TiffRecipe {
  bool is_big_endian = false, is_big_tiff = false;
  unsigned bits = 8, samples = 3, photometric = 2, compression = 1, orientation = 1;
  int extra_kind = -1;             // -1: no ExtraSamples tag
  std::uint64_t strip_bytes = 12;  // what the directory says
};
// 2 x 2 pixels in one strip of 12 bytes, which ends the file.
std::string make_tiff(const TiffRecipe& tiff) {
  const auto number = tiff.is_big_endian ? be : le;
  const int wide = tiff.is_big_tiff ? 8 : 4;
  const auto entry = [&](unsigned tag, std::uint64_t value) {
    return number(tag, 2) + number(4, 2) + number(1, wide) + number(value, 4) +
           std::string(wide == 8 ? 4 : 0, '\0');
  };
  const unsigned count = tiff.extra_kind < 0 ? 9 : 10;
  const std::uint64_t begin = wide == 8 ? 16 : 8;
  const std::uint64_t end = begin + (wide == 8 ? 8 + count * 20 + 8 : 2 + count * 12 + 4);
  std::string out = std::string(tiff.is_big_endian ? "MM" : "II") + number(wide == 8 ? 43 : 42, 2);
  if (wide == 8) out += number(8, 2) + number(0, 2);
  out += number(begin, wide) + number(count, wide == 8 ? 8 : 2);
  out += entry(256, 2) + entry(257, 2) + entry(258, tiff.bits) + entry(259, tiff.compression) +
         entry(262, tiff.photometric) + entry(273, end) + entry(274, tiff.orientation) +
         entry(277, tiff.samples) + entry(279, tiff.strip_bytes);
  if (tiff.extra_kind >= 0) out += entry(338, static_cast<unsigned>(tiff.extra_kind));
  return out + number(0, wide) + std::string(12, 'p');
}

}  // namespace

TEST_CASE("tiff probe: both byte orders, classic and BigTIFF") {
  for (const bool is_big_endian : {false, true}) {
    for (const bool is_big_tiff : {false, true}) {
      const ImageInfo info = probe(
          make_tiff({.is_big_endian = is_big_endian, .is_big_tiff = is_big_tiff, .orientation = 6}),
          "x.tif");
      CHECK(name_of(info.type) == "tiff");
      CHECK(info.width == 2);
      CHECK(info.height == 2);
      CHECK(info.color == "rgb");
      CHECK(info.bits == 8);
      CHECK(info.odd == Odd{"exif-rotated"});
      CHECK(info.fault.empty());
    }
  }
}

TEST_CASE("tiff probe: color and oddities") {
  struct Row {
    TiffRecipe recipe;
    std::string_view color;
    Odd odd;
  };
  const Row rows[] = {
      {{.samples = 1, .photometric = 0}, "gray", {"gray"}},
      {{.bits = 1, .samples = 1, .photometric = 1}, "bilevel", {"gray"}},
      {{.bits = 16, .samples = 1, .photometric = 1}, "gray", {"gray", "sixteen-bit"}},
      {{.samples = 2, .photometric = 1, .extra_kind = 2}, "gray-alpha", {"alpha", "gray"}},
      {{.samples = 1, .photometric = 3}, "palette", {"palette"}},
      {{.samples = 4, .compression = 5, .extra_kind = 2}, "rgba", {"alpha"}},
      {{.samples = 4, .compression = 5, .extra_kind = 0}, "rgb", {}},
      {{.samples = 4, .photometric = 5, .compression = 5}, "cmyk", {"cmyk"}},
      {{.photometric = 6}, "ycc", {}},
      {{.photometric = 8}, "lab", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.color);
    const ImageInfo info = probe(make_tiff(row.recipe));
    CHECK(info.color == row.color);
    CHECK(info.odd == row.odd);
    CHECK(info.fault.empty());
  }
}

TEST_CASE("tiff probe: every prefix is a fault") {
  for (const bool is_big_tiff : {false, true}) {
    const std::string tiff = make_tiff({.is_big_tiff = is_big_tiff});
    for (std::size_t length = 0; length < tiff.size(); ++length) {
      CAPTURE(length);
      CHECK_FALSE(probe(tiff.substr(0, length)).fault.empty());
    }
  }
}

TEST_CASE("tiff probe: strips beyond the end, or too short for the image, are cuts") {
  CHECK(probe(make_tiff({.strip_bytes = 13})).fault.text ==
        "is truncated: 134 bytes, its header says 135");
  CHECK(probe(make_tiff({.strip_bytes = 11})).fault.text ==
        "is truncated: 11 bytes of pixels, its TIFF header says 12");
  CHECK(probe(make_tiff({.compression = 5, .strip_bytes = 3})).fault.empty());
}

TEST_CASE("tiff probe: a directory without pixels is a fault") {
  const std::string tiff = make_tiff({});
  const std::size_t strip_entry = tiff.find(le(273, 2) + le(4, 2));

  CHECK(probe(patched(tiff, strip_entry, le(9999, 2))).fault.text ==
        "has no pixels: TIFF of 134 bytes without strips or tiles");
  CHECK(probe(patched(tiff, 18, le(0, 4))).fault.text == "has no pixels: its header says 0 x 2");
}

TEST_CASE("tiff probe: values of a public tag beyond the end are a cut, a private tag's are not") {
  const std::string tiff = make_tiff({});
  const std::size_t samples_entry = tiff.find(le(277, 2) + le(4, 2));
  const std::string values_apart = le(4, 2) + le(100, 4) + le(4000, 4);

  CHECK(probe(patched(tiff, samples_entry, le(320, 2) + values_apart)).fault.text ==
        "is truncated: 134 bytes, its header says 4400");
  CHECK(probe(patched(tiff, samples_entry, le(50'000, 2) + values_apart)).fault.empty());
}

}  // namespace shale::test
