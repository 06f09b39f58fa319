#include <doctest/doctest.h>

#include "shale/base/trimmed.hpp"

namespace shale {
namespace {

TEST_CASE("trimmed: blanks around a text are those of ASCII and the no-break space") {
  CHECK(trimmed(" \t3\r\xC2\xA0") == "3");
  CHECK(trimmed("\xC2\xA0") == "");
  CHECK(trimmed("a b") == "a b");
  CHECK(trimmed("\xC3\xA0") == "\xC3\xA0");  // a letter that ends in the same byte
}

}  // namespace
}  // namespace shale
