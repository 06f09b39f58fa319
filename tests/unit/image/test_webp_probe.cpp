#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

std::string chunk(const std::string& name, const std::string& payload) {
  return name + le(payload.size(), 4) + payload + std::string(payload.size() % 2, '\0');
}
std::string make_webp(const std::string& chunks) {
  return "RIFF" + le(chunks.size() + 4, 4) + "WEBP" + chunks;
}

const std::string kLossy =
    chunk("VP8 ", std::string("abc\x9D\x01\x2A") + le(40, 2) + le(30, 2) + "pixels");
std::string lossless(bool has_alpha) {
  return chunk("VP8L", "\x2F" + le(39 | 29 << 14 | (has_alpha ? 1 << 28 : 0), 4) + "pixels");
}
std::string extended(unsigned flags) { return chunk("VP8X", le(flags, 4) + le(39, 3) + le(29, 3)); }

}  // namespace

TEST_CASE("webp probe: lossy, lossless and extended") {
  struct Row {
    std::string chunks;
    std::string_view color;
    Odd odd;
  };
  const Row rows[] = {
      {kLossy, "ycc", {}},
      {lossless(false), "rgb", {}},
      {lossless(true), "rgba", {"alpha"}},
      {extended(0) + chunk("ICCP", "profile") + kLossy, "ycc", {}},
      {extended(0x10) + chunk("ALPH", "alpha") + kLossy, "ycc", {"alpha"}},
      {extended(0x10) + lossless(true), "rgba", {"alpha"}},
      {extended(0x08) + kLossy + chunk("EXIF", exif_block(5, false)), "ycc", {"exif-rotated"}},
      {extended(0x02) + chunk("ANIM", "123456") + chunk("ANMF", "frame"), "ycc", {}},
  };
  for (const Row& row : rows) {
    const ImageInfo info = probe(make_webp(row.chunks), "x.webp");
    CHECK(name_of(info.type) == "webp");
    CHECK(info.width == 40);
    CHECK(info.height == 30);
    CHECK(info.color == row.color);
    CHECK(info.odd == row.odd);
    CHECK(info.fault.empty());
  }
}

TEST_CASE("webp probe: every proper prefix is a fault") {
  const std::string webp = make_webp(extended(0x08) + kLossy + chunk("EXIF", exif_block(5, false)));
  for (std::size_t length = 0; length < webp.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(probe(webp.substr(0, length)).fault.empty());
  }
}

TEST_CASE("webp probe: ends and headers that are not right") {
  const std::string webp = make_webp(kLossy);

  CHECK(probe(webp + "x").odd == Odd{"trailing-bytes"});
  CHECK(probe(webp.substr(0, 30)).fault.text == "is truncated: 30 bytes, its header says 36");
  CHECK(probe(patched(webp, 16, le(17, 4))).fault.text ==
        "is truncated: 36 bytes, its WebP image chunk says 37");
  CHECK(probe(patched(webp, 23, "x")).fault.text ==
        "is damaged: WebP without VP8 start code at byte 23");
  CHECK(probe(patched(webp, 12, "VP9 ")).fault.text.starts_with("is damaged: WebP header: "));
  CHECK(probe(make_webp(extended(0))).fault.text ==
        "has no pixels: WebP of 30 bytes without an image chunk");
}

}  // namespace shale::test
