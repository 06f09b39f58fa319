#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "shale/numbers/short_float.hpp"

namespace shale {
namespace {

TEST_CASE("short float: every one comes back from a double") {
  for (const char* name : {"bfloat16", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3fn",
                           "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz"}) {
    CAPTURE(name);
    const ShortFloat& form = *short_float_named(name);
    const unsigned bits = 1U << static_cast<unsigned>(1 + form.exponent_bits + form.fraction_bits);
    for (std::uint32_t i = 0; i < bits; ++i) {
      const double value = short_float_value(i, form);
      if (!std::isnan(value)) CHECK(short_float_of(value, form) == i);
    }
  }
}

TEST_CASE("short float: what lies between two is rounded half to even") {
  const ShortFloat& form = *short_float_named("bfloat16");
  CHECK(short_float_of(1 + 0x1p-8, form) == 0x3f80);
  CHECK(short_float_of(1 + 3 * 0x1p-8, form) == 0x3f82);
  CHECK(short_float_of(1 + 0x1p-8 + 0x1p-40, form) == 0x3f81);
  CHECK(short_float_of(-0x1.ffp127, form) == 0xff80);
  CHECK(short_float_of(0x1p-134, form) == 0);
  CHECK(short_float_of(0x1.8p-134, form) == 1);
  CHECK(std::isinf(short_float_value(short_float_of(1e300, form), form)));
}

TEST_CASE("short float: where there is no infinity what is too large is NaN") {
  const ShortFloat& finite = *short_float_named("float8_e4m3fn");
  CHECK(short_float_of(464, finite) == 0x7e);
  CHECK(short_float_of(-std::numeric_limits<double>::infinity(), finite) == 0xff);
  CHECK(std::isnan(short_float_value(0xff, finite)));
  const ShortFloat& unsigned_zero = *short_float_named("float8_e4m3fnuz");
  CHECK(short_float_of(-0.0, unsigned_zero) == 0);
  CHECK(short_float_of(241, unsigned_zero) == 0x7f);
  CHECK(short_float_of(248, unsigned_zero) == 0x80);
  CHECK(short_float_named("float8_e8m0fnu") == nullptr);
}

}  // namespace
}  // namespace shale
