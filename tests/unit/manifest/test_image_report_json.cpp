#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/manifest/image_report_json.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

TEST_CASE("image report json: everything comes back") {
  ImageReport report{{{"jpeg", 4}, {"png", 1}}, {{"cmyk", 1}}};
  report.changed["resized"] = 4;
  report.sizes.count(640, 480);
  report.sizes.count(100, 900);
  report.duplicates = {2, 1};
  const ImageReport back = parse_image_report(image_report_json(report));
  CHECK(back.types == report.types);
  CHECK(back.odd == report.odd);
  CHECK(back.changed == report.changed);
  CHECK(back.sizes == report.sizes);
  CHECK(back.duplicates == report.duplicates);
}

TEST_CASE("image report json: sets of an older shale have types and oddities only") {
  const ImageReport report = parse_image_report(R"({"types": {"jpeg": 3}, "odd": {}})");
  CHECK(report.types.at("jpeg") == 3);
  CHECK(report.sizes.is_empty());
  CHECK_FALSE(report.duplicates);
  CHECK(image_report_json(report) == R"({"types":{"jpeg":3},"odd":{}})");
}

TEST_CASE("image report json: what is not as shale writes it is damage") {
  for (const char* json :
       {R"([])", R"({"types": {}})", R"({"types": {}, "odd": []})",
        R"({"types": {"jpeg": -1}, "odd": {}})", R"({"types": {"jpeg": 1.5}, "odd": {}})",
        R"({"types": {}, "odd": {}, "changed": 1})", R"({"types": {}, "odd": {}, "sizes": {}})",
        R"({"types": {}, "odd": {}, "sizes": {"shorter": [], "longer": []}})",
        R"({"types": {}, "odd": {}, "sizes": {"shorter": [[1]], "longer": [], "aspects": []}})",
        R"({"types": {}, "odd": {}, "sizes": {"shorter": [[1, -1]], "longer": [], "aspects": []}})",
        R"({"types": {}, "odd": {}, "sizes": {"shorter": {}, "longer": [], "aspects": []}})",
        R"({"types": {}, "odd": {}, "duplicates": {"samples": 1}})",
        R"({"types": {}, "odd": {}, "duplicates": [1, 1]})"}) {
    CAPTURE(json);
    CHECK(test::error_of([&] { (void)parse_image_report(json); }).code() == Code::damaged);
  }
}

}  // namespace
}  // namespace shale
