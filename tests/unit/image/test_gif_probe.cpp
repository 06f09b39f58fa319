#include <doctest/doctest.h>

#include "unit/image/image_samples.hpp"

namespace shale::test {
namespace {

const std::string kScreen =
    "GIF89a" + le(4, 2) + le(3, 2) + "\x80" + le(0, 2) + std::string(6, 'c');
const std::string kTransparent = std::string("\x21\xF9\x04\x01\0\0\0\0", 8);
const std::string kFrame =
    "\x2C" + le(0, 4) + le(4, 2) + le(3, 2) + le(0, 1) + "\x02" + "\x03" + "abc" + le(0, 1);

}  // namespace

TEST_CASE("gif probe: size, palette and transparency") {
  const ImageInfo info = probe(kScreen + kTransparent + kFrame + ";", "x.gif");

  CHECK(name_of(info.type) == "gif");
  CHECK(info.width == 4);
  CHECK(info.height == 3);
  CHECK(info.color == "palette");
  CHECK(info.odd == Odd{"alpha", "palette"});
  CHECK(info.fault.empty());
}

TEST_CASE("gif probe: every proper prefix is a fault") {
  const std::string gif = kScreen + kTransparent + kFrame + le(0, 1) + kFrame + ";";
  CHECK(probe(gif).fault.empty());
  for (std::size_t length = 0; length < gif.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(probe(gif.substr(0, length)).fault.empty());
  }
}

TEST_CASE("gif probe: ends that are odd or missing") {
  CHECK(probe(kScreen + kFrame + ";x").odd == Odd{"palette", "trailing-bytes"});
  CHECK(probe(kScreen + ";").fault.text == "has no pixels: GIF of 20 bytes without a frame");
  CHECK(probe(kScreen + kFrame).fault.text == "is truncated: GIF of 35 bytes without trailer");
  CHECK(probe(kScreen + kFrame.substr(0, 14)).fault.text ==
        "is truncated: 33 bytes, its GIF blocks need 34 or more");
  CHECK(probe(kScreen + "?").fault.text == "is damaged: GIF block of unknown kind 0x3f at byte 19");
}

}  // namespace shale::test
