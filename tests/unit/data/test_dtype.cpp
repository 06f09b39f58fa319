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

TEST_CASE("dtype: a list of columns becomes the text that NumPy prints") {
  struct Row {
    std::string_view text, descr;
    std::uint64_t item_bytes;
  };
  // np.lib.format.dtype_to_descr(np.lib.format.descr_to_dtype(...)) of NumPy 2.4.6.
  constexpr Row kRows[] = {
      {"[('a', '<f4'), ('b', '|S3', (2, 3)), ('c', [('d', '<i8')])]",
       "[('a', '<f4'), ('b', '|S3', (2, 3)), ('c', [('d', '<i8')])]", 30},
      {"[(('title', 'name'), '<f4'), ('', '|V4')]", "[(('title', 'name'), '<f4'), ('', '|V4')]", 8},
      {"[(\"a\",'<f4',3,),('b','<b1',()),]", "[('a', '<f4', (3,)), ('b', '|b1')]", 13},
      {"[('', '|V2'), ('', '|V3'), ('a', '<i4')]", "[('', '|V5'), ('a', '<i4')]", 9},
      {"[('', '<f4', (2,)), ('a', '<i4')]", "[('', '|V8'), ('a', '<i4')]", 12},
      {"[('', '|V4', (0,)), ('a', '<i4')]", "[('a', '<i4')]", 4},
      {"[('', '<f4'), (('t', 'b'), '|V4')]", "[('', '<f4'), (('t', 'b'), '|V4')]", 8},
      {"[('a', '<f4', (0,)), ('b', '<M8[1s]', (1,))]",
       "[('a', '<f4', (0,)), ('b', '<M8[s]', (1,))]", 8},
      {"[('it\\'s', '<f4'), ('\\xe9\\u200b', '<f4')]",
       "[(\"it's\", '<f4'), ('\xc3\xa9\\u200b', '<f4')]", 8},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const DType dtype = DType::parse(row.text);
    CHECK(dtype.descr() == row.descr);
    CHECK(dtype.item_bytes() == row.item_bytes);
    CHECK(dtype.is_structured());
    CHECK(DType::parse(dtype.descr()) == dtype);
  }
  CHECK_FALSE(DType::parse("<f4").is_structured());
}

TEST_CASE("dtype: packed columns are the list of them") {
  const std::vector<std::pair<std::string, std::string>> columns = {{"a.x", "<u8"}, {"b", "<u4"}};
  CHECK(DType::packed(columns) == DType::parse("[('a.x', '<u8'), ('b', '<u4')]"));
}

TEST_CASE("dtype: lists that are none, or no elements, are refused with the reason") {
  struct Row {
    std::string_view text, message;
    Code code;
  };
  constexpr Row kRows[] = {
      {"[('a', '<f4')", "dtype has '' where ']' is expected", Code::damaged},
      {"[('a', '<f4')] ]", "dtype continues after its list of columns", Code::damaged},
      {"[('a', '<f4'), ('a', '<i4')]", "dtype names column 'a' twice", Code::damaged},
      {"[(('b', 'a'), '<f4'), ('b', '<i4')]", "dtype names column 'b' twice", Code::damaged},
      {"[('a', [('x', '<f4'), ('x', '<f4')])]", "dtype names column 'x' twice", Code::damaged},
      {"[('', '|V4')]", "dtype has no columns", Code::damaged},
      {"[]", "dtype has no columns", Code::damaged},
      {"[('a', '<f4', (-1,))]", "dtype has a negative length", Code::damaged},
      {"[('a', '<f4', (2, 3]", "dtype has ']' where ')' is expected", Code::damaged},
      {"[(1, '<f4')]", "dtype has '1' where a string is expected", Code::damaged},
      {"[('\xff', '<f4')]", "dtype is not UTF-8", Code::damaged},
      {"[('a', '<f4', (0,))]", "elements of dtype '[('a', '<f4', (0,))]' have zero bytes",
       Code::unsupported},
      {"[('a', '|O')]", "dtype '|O' holds Python objects, which only pickle can read",
       Code::unsupported},
      {"[('a', '>f4')]", "dtype '>f4' is big-endian", Code::unsupported},
      {"[('a', ('<f4', (3,)))]", "dtype has a dtype that is a pair of type and shape",
       Code::unsupported},
      {"[('a', '<f4', (536870912,))]",
       "column 'a' of shape (536870912,) takes more than 2147483647 bytes", Code::limit},
      {"[('a', '|V2147483647'), ('b', '|u1')]",
       "columns of an element take 2147483648 bytes; NumPy allows at most 2147483647", Code::limit},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const Error error = test::error_of([&] { (void)DType::parse(row.text); });
    CHECK(error.message() == row.message);
    CHECK(error.code() == row.code);
  }
}

TEST_CASE(
    "dtype: sixteen lists may nest, seventeen may not, and 64 KiB of text are read, more are not") {
  const auto nested = [](int levels) {
    std::string text = "'<f4'";
    for (int i = 0; i < levels; ++i) text = "[('a', " + text + ")]";
    return text;
  };
  CHECK(DType::parse(nested(16)).item_bytes() == 4);
  CHECK(test::error_of([&] { (void)DType::parse(nested(17)); }).code() == Code::limit);

  const auto named = [](std::size_t size) {
    return "[('" + std::string(size - 13, 'x') + "', '|u1')]";
  };
  CHECK(DType::parse(named(65'536)).item_bytes() == 1);
  CHECK(test::error_of([&] { (void)DType::parse(named(65'537)); }).code() == Code::limit);
  // Short as it is written, long as it is printed.
  const std::string controls = "[('" + std::string(20'000, '\1') + "', '|u1')]";
  CHECK(test::error_of([&] { (void)DType::parse(controls); }).code() == Code::limit);
}

TEST_CASE("dtype: as stored, any byte order is the little-endian type and what to turn around") {
  struct Row {
    std::string_view text, descr;
    std::vector<ByteSwap> swaps;
  };
  const Row rows[] = {
      {"<f4", "<f4", {}},
      {"=f4", "<f4", {}},
      {">i1", "|i1", {}},
      {">S5", "|S5", {}},
      {">i2", "<i2", {{0, 2, 1}}},
      {">f16", "<f16", {{0, 16, 1}}},
      {">c8", "<c8", {{0, 4, 2}}},
      {">c32", "<c32", {{0, 16, 2}}},
      {">U3", "<U3", {{0, 4, 3}}},
      {">M8[25s]", "<M8[25s]", {{0, 8, 1}}},
      {"[('a', '>f4', (2, 3))]", "[('a', '<f4', (2, 3))]", {{0, 4, 6}}},
      {"[('a', '>f4'), ('b', '>u4'), ('c', '>u2')]",
       "[('a', '<f4'), ('b', '<u4'), ('c', '<u2')]",
       {{0, 4, 2}, {8, 2, 1}}},
      {"[('a', '|u1'), ('b', [('x', '>u2'), ('y', '<u2')], (2,))]",
       "[('a', '|u1'), ('b', [('x', '<u2'), ('y', '<u2')], (2,))]",
       {{1, 2, 1}, {5, 2, 1}}},
      {"[('a', [('x', '>u2'), ('', '|V2'), ('y', '>u2')], (2,))]",
       "[('a', [('x', '<u2'), ('', '|V2'), ('y', '<u2')], (2,))]",
       {{0, 2, 1}, {4, 2, 2}, {10, 2, 1}}},
      {"[('a', '>u2', (0,)), ('b', '>u2')]", "[('a', '<u2', (0,)), ('b', '<u2')]", {{0, 2, 1}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const StoredDType stored = parse_stored_dtype(row.text);
    CHECK(stored.dtype == DType::parse(row.descr));
    CHECK(stored.swaps == row.swaps);
  }
}

TEST_CASE("dtype: a short text cannot ask for a long list of swaps") {
  const Error error = test::error_of(
      [] { (void)parse_stored_dtype("[('a', [('x', '>u2'), ('y', '|u1')], (500000000,))]"); });
  CHECK(error.code() == Code::limit);
  CHECK(error.message() == "an element has more than 65536 runs of big-endian numbers");
}

}  // namespace shale
