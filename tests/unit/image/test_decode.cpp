#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

constexpr JpegRecipe kJpegs[] = {
    {.color = JpegColor::gray},
    {.color = JpegColor::ycc, .is_subsampled = false},
    {.color = JpegColor::ycc, .is_progressive = true},
    {.color = JpegColor::ycc, .is_one_scan_a_channel = true},
    {.color = JpegColor::rgb},
    {.color = JpegColor::cmyk},
    {.color = JpegColor::ycck},
};

}  // namespace

TEST_CASE("decode: whole JPEGs of every color decode") {
  for (const JpegRecipe& recipe : kJpegs) {
    const DecodeResult result = decode(make_jpeg(recipe), ImageType::jpeg);
    CHECK(result.was_decoded);
    CHECK(result.fault == "");
  }
}

TEST_CASE("decode: every proper prefix of a JPEG is a fault") {
  for (const JpegRecipe& recipe : {kJpegs[1], kJpegs[2]}) {
    const std::string jpeg = make_jpeg(recipe);
    for (std::size_t length = 0; length < jpeg.size(); ++length) {
      CAPTURE(length);
      CHECK_FALSE(decode(jpeg.substr(0, length), ImageType::jpeg).fault.empty());
    }
  }
}

TEST_CASE("decode: entropy-coded data that breaks off before an end-of-image marker is a fault") {
  const std::string jpeg = make_jpeg();
  const std::string hollow = jpeg.substr(0, jpeg.size() - 40) + "\xFF\xD9";

  CHECK(probe(hollow).fault.empty());
  CHECK(decode(hollow, ImageType::jpeg).fault ==
        "does not decode as JPEG: Corrupt JPEG data: premature end of data segment");
}

TEST_CASE("decode: metadata that is merely unusual is no fault") {
  const std::string jpeg = make_jpeg();
  REQUIRE(jpeg.substr(6, 4) == "JFIF");

  CHECK(decode(patched(jpeg, 11, "\x09"), ImageType::jpeg).fault == "");
}

TEST_CASE("decode: a JPEG that libjpeg-turbo does not support is not judged") {
  const std::string jpeg = make_jpeg();

  const DecodeResult result = decode(patched(jpeg, frame_of(jpeg) + 4, "\x0C"), ImageType::jpeg);

  CHECK_FALSE(result.was_decoded);
  CHECK(result.fault.empty());
}

TEST_CASE("decode: a huge frame around little data ends at once, within the limit") {
  const std::string baseline = make_jpeg(), progressive = make_jpeg({.is_progressive = true});
  const std::string size = be(65'500, 2) + be(65'500, 2);

  CHECK(decode(patched(baseline, frame_of(baseline) + 5, size), ImageType::jpeg)
            .fault.starts_with("does not decode as JPEG: "));
  CHECK(decode(patched(progressive, frame_of(progressive) + 5, size), ImageType::jpeg, 64 << 20)
            .fault ==
        "does not decode: JPEG of 65500 x 65500 needs more than the 67108864 bytes allowed");
}

TEST_CASE("decode: more than 500 scans are refused") {
  const std::string jpeg = make_jpeg({.is_one_scan_a_channel = true});
  const std::size_t last_scan = jpeg.rfind("\xFF\xDA");
  const std::string scan = jpeg.substr(last_scan, jpeg.size() - 2 - last_scan);
  std::string many = jpeg.substr(0, last_scan);
  for (int i = 0; i < 500; ++i) many += scan;

  CHECK(decode(many + "\xFF\xD9", ImageType::jpeg).fault ==
        "does not decode as JPEG: more than 500 scans");
}

TEST_CASE("decode: tables of the last JPEG do not stand in for missing ones") {
  const std::string jpeg = make_jpeg();
  const std::size_t tables =
      jpeg.find("\xFF\xDB");  // two segments of 67 bytes, after them the frame
  REQUIRE(decode(jpeg, ImageType::jpeg).fault == "");

  CHECK(decode(jpeg.substr(0, tables) + jpeg.substr(frame_of(jpeg)), ImageType::jpeg)
            .fault.starts_with("does not decode as JPEG: Quantization table"));
}

TEST_CASE("decode: whole PNGs of every kind decode, interlaced or not, however small") {
  struct Kind {
    int color_type, bits;
  };
  constexpr Kind kKinds[] = {{0, 1}, {0, 16}, {2, 8}, {3, 4}, {4, 8}, {6, 16}};
  for (const Kind& kind : kKinds) {
    for (const unsigned side : {1U, 2U, 3U, 5U, 9U, 40U}) {
      for (const bool is_interlaced : {false, true}) {
        CAPTURE(kind.color_type);
        CAPTURE(side);
        const DecodeResult result = decode(make_png({.width = side,
                                                     .height = 10 - (side < 10 ? side : 9),
                                                     .color_type = kind.color_type,
                                                     .bits = kind.bits,
                                                     .is_interlaced = is_interlaced}),
                                           ImageType::png);
        CHECK(result.was_decoded);
        CHECK(result.fault == "");
      }
    }
  }
}

TEST_CASE("decode: every proper prefix and every changed byte of a PNG is a fault") {
  const std::string png =
      make_png({.width = 5, .height = 4, .extra_chunk = "teXt", .extra_payload = "note"});
  REQUIRE(decode(png, ImageType::png).fault == "");
  for (std::size_t at = 0; at < png.size(); ++at) {
    CAPTURE(at);
    CHECK_FALSE(decode(png.substr(0, at), ImageType::png).fault.empty());
    const std::string_view changed(&png[at], 1);
    CHECK_FALSE(decode(patched(png, at, std::string(1, static_cast<char>(changed[0] ^ 0x10))),
                       ImageType::png)
                    .fault.empty());
  }
}

TEST_CASE("decode: a PNG's wrong checksum is named") {
  const std::string png = make_png();

  CHECK(decode(patched(png, png.size() - 16, "????"), ImageType::png).fault ==
        "does not decode as PNG: IDAT: CRC error");
}

TEST_CASE("decode: a color profile not to libpng's taste is no fault") {
  const std::string png =
      make_png({.extra_chunk = "iCCP", .extra_payload = std::string("x\0\0garbage", 10)});

  CHECK(decode(png, ImageType::png).fault == "");
}

TEST_CASE("decode: PNG rows beyond the limit are refused with both numbers") {
  CHECK(decode(make_png({.width = 1000, .height = 1}), ImageType::png, 4000).fault ==
        "does not decode: two PNG rows of 3000 bytes, 4000 bytes allowed");
}

TEST_CASE("decode: other types have no decoder here") {
  const DecodeResult result = decode("P5 1 1 255 x", ImageType::pnm);

  CHECK_FALSE(result.was_decoded);
  CHECK(result.fault.empty());
}

}  // namespace shale::test
