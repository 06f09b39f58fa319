#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/pixels/image_work.hpp"

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

struct Worked {
  ImagePlan plan;
  std::string bytes;
  ImageInfo info;
};
Worked worked(const std::string& image, const ImageRule& rule) {
  const ImageInfo info = probe(image);
  Worked done{.plan = plan_image(as_bytes(image), info, rule), .bytes = {}, .info = {}};
  REQUIRE(done.plan.fault.text == "");
  std::vector<std::byte> into;
  const ImageResult result = ImageWorker(rule).run(as_bytes(image), info, done.plan, into);
  REQUIRE(result.fault.text == "");
  done.bytes = as_text(Bytes(into).first(result.bytes));
  done.info = probe(done.bytes);
  return done;
}

}  // namespace

TEST_CASE("image work: an image that needs no change keeps its bytes") {
  const std::string jpeg = make_jpeg();
  CHECK(worked(jpeg, {}).bytes == jpeg);
  CHECK(worked(jpeg, {.resize = Resize::shorter, .width = 40}).plan.keeps_bytes);
}

TEST_CASE("image work: a JPEG stays a JPEG, a PNG a PNG, of the planned size") {
  const ImageRule rule{.resize = Resize::shorter, .width = 20};
  const Worked jpeg = worked(make_jpeg(), rule);
  CHECK(jpeg.info.type == ImageType::jpeg);
  CHECK(jpeg.info.width == 24);
  CHECK(jpeg.info.height == 20);
  CHECK(worked(make_png(), rule).info.type == ImageType::png);
}

TEST_CASE("image work: a JPEG, its planes scaled, has the same bytes at every SIMD level") {
  const std::string jpeg = make_jpeg({.width = 333, .height = 211});
  const ImageRule rule{.resize = Resize::shorter, .width = 77};
  const ImageInfo info = probe(jpeg);
  const ImagePlan plan = plan_image(as_bytes(jpeg), info, rule);
  std::vector<std::byte> first, second;
  const ImageResult a = ImageWorker(rule, SimdLevel::scalar).run(as_bytes(jpeg), info, plan, first);
  const ImageResult b = ImageWorker(rule).run(as_bytes(jpeg), info, plan, second);
  CHECK(a.bytes <= plan.most_output_bytes);
  CHECK(as_text(Bytes(first).first(a.bytes)) == as_text(Bytes(second).first(b.bytes)));
}

TEST_CASE("image work: a PNG that is turned four times by 90 degrees is what it was") {
  std::string png = make_png({.color_type = 2, .bits = 8});
  const std::string first = worked(png, {.encode = EncodeAs::raw}).bytes;
  for (int i = 0; i < 4; ++i) {
    ImageInfo info = probe(png);
    info.orientation = 6;
    const ImageRule rule{.apply_rotation = true};
    const ImagePlan plan = plan_image(as_bytes(png), info, rule);
    CHECK(plan.width == info.height);
    std::vector<std::byte> into;
    const ImageResult result = ImageWorker(rule).run(as_bytes(png), info, plan, into);
    png = as_text(Bytes(into).first(result.bytes));
  }
  CHECK(worked(png, {.encode = EncodeAs::raw}).bytes == first);
}

TEST_CASE("image work: a mask keeps its palette, bits and values") {
  const ImageRule rule{.resize = Resize::exact, .width = 46, .height = 34, .is_mask = true};
  for (const auto& [color_type, bits] : {std::pair{3, 4}, {3, 8}, {0, 1}, {0, 16}, {2, 16}}) {
    const std::string png = make_png({.color_type = color_type, .bits = bits});
    const Worked done = worked(png, rule);
    CHECK(done.info.color == probe(png).color);
    CHECK(done.info.bits == unsigned(bits));
  }
  const std::string jpeg = make_jpeg({.color = JpegColor::gray});
  CHECK(worked(jpeg, rule).info.type == ImageType::png);
}

TEST_CASE("image work: metadata goes without decoding, the orientation stays") {
  const std::string plain = make_jpeg(), photo = with_exif(plain, exif_block(6, true));
  const Worked done = worked(photo, {.strip_metadata = true});
  CHECK(done.plan.keeps_pixels);
  CHECK(done.info.orientation == 6);
  CHECK(done.bytes.size() < photo.size());
  CHECK(worked(done.bytes, {.strip_metadata = true}).plan.keeps_bytes);
  CHECK(worked(with_exif(plain, exif_block(1, true)), {.strip_metadata = true}).bytes == plain);
}

TEST_CASE("image work: a PNG that is written has its EXIF once, and stripping it again keeps it") {
  const std::string png = make_png({.extra_chunk = "eXIf", .extra_payload = exif_block(6, true)});
  const ImageRule rule{.resize = Resize::shorter, .width = 8};
  const std::string small = worked(png, rule).bytes;
  CHECK(small.find("eXIf") != std::string::npos);
  CHECK(small.find("eXIf") == small.rfind("eXIf"));
  ImageRule stripping = rule;
  stripping.strip_metadata = true;
  const std::string stripped = worked(png, stripping).bytes;
  CHECK(worked(stripped, stripping).plan.keeps_bytes);
}

TEST_CASE("image work: EXIF is carried to the new JPEG, and reset where it was applied") {
  const std::string photo = with_exif(make_jpeg(), exif_block(6, true));
  ImageRule rule{.resize = Resize::shorter, .width = 20};
  CHECK(worked(photo, rule).info.orientation == 6);
  rule.apply_rotation = true;
  const Worked turned = worked(photo, rule);
  CHECK(turned.info.orientation == 1);
  CHECK(turned.info.width == 20);
  CHECK(turned.info.height == 24);
}

TEST_CASE("image work: damage is a fault, and so is what is too large or too small") {
  const std::string jpeg = make_jpeg({.width = 200, .height = 160, .rows_differ = true});
  const ImageRule rule{.resize = Resize::shorter, .width = 50};
  std::string cut = jpeg.substr(0, jpeg.size() / 2) + "\xFF\xD9";
  const ImageInfo info = probe(cut);
  const ImagePlan plan = plan_image(as_bytes(cut), info, rule);
  std::vector<std::byte> into;
  CHECK(ImageWorker(rule).run(as_bytes(cut), info, plan, into).fault.code ==
        ImageFaultCode::damaged);
  CHECK(plan_image(as_bytes(jpeg), probe(jpeg), rule, 1000).fault.code ==
        ImageFaultCode::too_large);
  const ImageRule crop{.crop_width = 500, .crop_height = 5};
  CHECK(plan_image(as_bytes(jpeg), probe(jpeg), crop).fault.code == ImageFaultCode::too_small);
}

}  // namespace shale::test
