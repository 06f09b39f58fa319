#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/base/utf16.hpp"

namespace shale {
namespace {

TEST_CASE("utf-16: becomes UTF-8, and half of a pair a replacement") {
  const auto utf8 = [](std::u16string_view units, std::size_t bytes_left_out = 0) {
    const Bytes bytes = std::as_bytes(std::span(units));
    return utf8_of_utf16(bytes.first(bytes.size() - bytes_left_out));
  };

  CHECK(utf8(u"a\u00e9\u65e5\U0001F600") == "a\u00e9\u65e5\U0001F600");
  CHECK(utf8(std::u16string{0xd83d, u'x', 0xde00}) == "\ufffdx\ufffd");
  CHECK(utf8(std::u16string{u'x', 0xd83d}) == "x\ufffd");
  CHECK(utf8(u"ab", 1) == "a");
}

}  // namespace
}  // namespace shale
