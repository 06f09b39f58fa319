#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/image/image_work.hpp"

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

}  // namespace shale::test
