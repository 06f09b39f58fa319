#include <cstdint>

#include <doctest/doctest.h>

#include "shale/parquet/thrift_writer.hpp"

#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::unhex;

TEST_CASE(
    "thrift writer: fields far apart, long lists and negative numbers are as the protocol has "
    "them") {
  ThriftWriter out;
  out.i32(1, 17);
  out.i32(20, -1);
  out.flag(21, true);
  out.list(22, ThriftType::i64, 3);
  for (const std::int64_t value : {8, 44, 91}) out.element_i64(value);
  out.list(23, ThriftType::bool_true, 16);
  for (int i = 0; i < 16; ++i) out.element_flag(i == 0);
  out.end();
  CHECK(out.take() == unhex("1522"
                            "052801"
                            "11"
                            "19361058b601"
                            "19f11001020202020202020202020202020202"
                            "00"));
}

}  // namespace
}  // namespace shale
