#include <doctest/doctest.h>

#include "shale/data/array_text.hpp"

namespace shale {
namespace {

TEST_CASE("dtype text: NumPy's name where it has one, else the description") {
  struct Row {
    std::string_view descr, text;
  };
  constexpr Row kRows[] = {{"|u1", "uint8"},
                           {"<i8", "int64"},
                           {"<f4", "float32"},
                           {"<f2", "float16"},
                           {"<f16", "float128"},
                           {"<c16", "complex128"},
                           {"|b1", "bool"},
                           {"<M8[ns]", "datetime64[ns]"},
                           {"<m8", "timedelta64"},
                           {"<U3", "<U3"},
                           {"|S4", "|S4"},
                           {"|V2", "|V2"},
                           {">f4", ">f4"},
                           {"<i3", "<i3"},
                           {"<f04", "<f04"},
                           {"<Mx", "<Mx"},
                           {"", ""},
                           {"[('a', '<i8')]", "[('a', '<i8')]"},
                           {"\x1b[31m", "\\x1b[31m"}};
  for (const Row& row : kRows) {
    CAPTURE(row.descr);
    CHECK(dtype_text(row.descr) == row.text);
  }
}

TEST_CASE("array text: dtype and shape as a user writes them, a scalar without shape") {
  const std::vector<std::uint64_t> none, one = {3}, three = {32, 32, 3};
  CHECK(array_text(DType::parse("|u1"), three) == "uint8 (32, 32, 3)");
  CHECK(array_text(DType::parse("<f4"), one) == "float32 (3,)");
  CHECK(array_text(DType::parse("<i8"), none) == "int64");
  CHECK(shape_text(none) == "()");
}

}  // namespace
}  // namespace shale
