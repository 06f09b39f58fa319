#include <doctest/doctest.h>

#include "shale/data/dtype.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

TEST_CASE("dtype: every plain NumPy type is read with the size of its element") {
  struct Row {
    std::string_view descr;
    std::uint64_t item_bytes;
  };
  // np.dtype(t).str and .itemsize of NumPy 2.4.6.
  constexpr Row kRows[] = {
      {"|b1", 1},     {"|i1", 1},      {"|u1", 1},   {"<i2", 2},
      {"<u2", 2},     {"<i4", 4},      {"<u4", 4},   {"<i8", 8},
      {"<u8", 8},     {"<f2", 2},      {"<f4", 4},   {"<f8", 8},
      {"<f16", 16},   {"<c8", 8},      {"<c16", 16}, {"<c32", 32},
      {"|S1", 1},     {"|S12", 12},    {"|V2", 2},   {"<U3", 12},
      {"<M8[ns]", 8}, {"<m8[25s]", 8}, {"<M8", 8},   {"<U536870911", 2'147'483'644}};
  for (const Row& row : kRows) {
    CAPTURE(row.descr);
    const DType dtype = DType::parse(row.descr);
    CHECK(dtype.item_bytes() == row.item_bytes);
    CHECK(dtype.descr() == row.descr);
  }
}

TEST_CASE("dtype: where bytes have no order, any mark means the same") {
  CHECK(DType::parse("<i1") == DType::parse("|i1"));
  CHECK(DType::parse(">u1").descr() == "|u1");
  CHECK(DType::parse("<b1").descr() == "|b1");
  CHECK(DType::parse("<S5").descr() == "|S5");
  CHECK(DType::parse("<V2").descr() == "|V2");  // ml_dtypes.bfloat16
}

TEST_CASE("dtype: what is not fixed-size, plain and little-endian is refused with its text") {
  constexpr std::string_view kTexts[] = {
      "",      "<",         "|O",      "<f",      "f4",           "=f4",     ">f4",
      ">U3",   "|i4",       "<i3",     "<f1",     "<b2",          "<c4",     "<i16",
      "<f44",  "<f 4",      "<f4 ",    "|S0",     "|V0",          "<U0",     "|S05",
      "|S",    "|S-1",      "<x4",     "<i4i",    "|S2147483648", "<M4",     "<M8[",
      "<M8[]", "<M8[fort]", "<M8[0s]", "<M8[s]x", "<U536870912",  "float32", "<U4294967297",
      "<i\n"};
  for (const std::string_view text : kTexts) {
    CAPTURE(text);
    const Error error = test::error_of([&] { (void)DType::parse(text); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message().find(text == "<i\n" ? "'<i\\n'" : "'" + std::string(text) + "'") !=
          std::string::npos);
  }
}

TEST_CASE("dtype: big-endian is named as such") {
  CHECK(test::error_of([] { (void)DType::parse(">f8"); }).message() == "dtype '>f8' is big-endian");
}

}  // namespace shale
