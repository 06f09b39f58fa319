#include <doctest/doctest.h>

#include "shale/image/heif.hpp"

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

// "ftyp" with this brand, and a box "meta" that says it has so many bytes.
std::string boxes(std::string_view brand, char meta_bytes) {
  using std::literals::string_literals::operator""s;
  return "\0\0\0\x10"s + "ftyp" + std::string(brand) + "\0\0\0\0"s + "\0\0\0"s + meta_bytes +
         "meta" + "\0\0\0\0"s;
}

}  // namespace

TEST_CASE("heif: told by the brand, and cut where a box reaches beyond the end") {
  CHECK(probe(boxes("heic", 12), "x.heic").type == ImageType::heic);
  CHECK(probe(boxes("mif1", 12), "x.heif").type == ImageType::heic);
  CHECK(probe(boxes("avif", 12), "x.avif").type == ImageType::avif);
  CHECK(probe(boxes("isom", 12), "x.mp4").type == ImageType::unknown);
  CHECK(probe(boxes("avif", 12), "x.jpg").is_odd("wrong-suffix"));
  CHECK(probe(boxes("heic", 100), "x.heic").fault.text ==
        "is truncated: 28 bytes, its header says 116");
}

TEST_CASE("heif: what libheif objects to is damage, and has no pixels") {
  const std::string bytes = boxes("heic", 12);
  const HeifImage image(as_bytes(bytes));
  CHECK_FALSE(image.objection().empty());
  CHECK(image.exif(1000).empty());
  CHECK(image.icc(1000).empty());
  CHECK_FALSE(image.decode_into({}).empty());
  const ImageFaultCode code = probe(bytes, "x.heic").fault.code;
  CHECK(code == (has_libheif() ? ImageFaultCode::damaged : ImageFaultCode::unsupported));
}

}  // namespace shale::test
