#include <array>
#include <bit>
#include <limits>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/fixed_value.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

// A field that is a column of this dtype; "" for none.
Field column_of(Kind kind, std::string_view dtype) {
  return {.name = "x", .kind = kind, .dtype = dtype.empty() ? DType() : DType::parse(dtype)};
}

std::vector<std::byte> written(const Value& value, const Field& field) {
  std::vector<std::byte> stored(fixed_bytes_of(field).value());
  write_number(value, field, stored);
  return stored;
}

struct IntegerRow {
  std::string_view dtype;
  std::int64_t least, most;
  std::uint64_t bytes;
};
constexpr IntegerRow kIntegers[] = {
    {"|b1", 0, 1, 1},
    {"|i1", -128, 127, 1},
    {"|u1", 0, 255, 1},
    {"<i2", -32'768, 32'767, 2},
    {"<u2", 0, 65'535, 2},
    {"<i4", -2'147'483'648, 2'147'483'647, 4},
    {"<u4", 0, 4'294'967'295, 4},
    {"<i8", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 8},
    {"", std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 8},
};

TEST_CASE("fixed value: integers of every dtype come back at both of its limits") {
  for (const IntegerRow& row : kIntegers) {
    CAPTURE(row.dtype);
    const Field field = column_of(Kind::integer, row.dtype);
    CHECK(fixed_bytes_of(field) == row.bytes);
    for (const std::int64_t number : {row.least, row.most, std::int64_t{0}, std::int64_t{1}}) {
      const std::vector<std::byte> stored = written(number, field);
      CHECK(stored.size() == row.bytes);
      CHECK(std::to_integer<std::uint8_t>(stored[0]) == static_cast<std::uint8_t>(number));
      CHECK(read_number(stored, field).integer == number);
    }
  }
}

TEST_CASE("fixed value: one beyond the limits of a dtype is refused, by field and dtype") {
  for (const IntegerRow& row : kIntegers) {
    if (row.bytes == 8) continue;
    CAPTURE(row.dtype);
    const Field field = column_of(Kind::integer, row.dtype);
    for (const std::int64_t number :
         {row.least - 1, row.most + 1, std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max()}) {
      const Error error = error_of([&] { (void)written(number, field); });
      CHECK(error.code() == Code::schema);
      CHECK(error.message() == fmt::format("field 'x' is {} here, which its dtype {} cannot hold",
                                           number, dtype_text(row.dtype)));
    }
  }
}

TEST_CASE("fixed value: a bool that is neither 0 nor 1 is damaged, by field") {
  const Field field = column_of(Kind::integer, "|b1");
  for (const unsigned byte : {2U, 128U, 255U}) {
    const std::array<std::byte, 1> stored = {static_cast<std::byte>(byte)};
    const Error error = error_of([&] { (void)read_number(stored, field); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.message() == fmt::format("bool of field 'x' is {}, neither 0 nor 1", byte));
  }
}

TEST_CASE("fixed value: every float32 comes back bit by bit, signalling NaNs too") {
  const Field field = column_of(Kind::real, "<f4");
  const auto comes_back = [&](std::uint32_t bits) {
    const std::vector<std::byte> again = written(read_number(bytes_of(bits), field).real, field);
    return std::bit_cast<std::uint32_t>(std::array{again[0], again[1], again[2], again[3]}) == bits;
  };
  // Signs, zeros, the least and largest numbers of each kind, infinities, quiet and signalling
  // NaNs.
  for (const std::uint32_t bits :
       {0x0000'0000U, 0x8000'0000U, 0x0000'0001U, 0x007f'ffffU, 0x0080'0000U, 0x7f7f'ffffU,
        0x7f80'0000U, 0xff80'0000U, 0x7fc0'0000U, 0x7f80'0001U, 0xffbf'ffffU, 0x7fff'ffffU}) {
    CAPTURE(bits);
    CHECK(comes_back(bits));
  }
  std::uint64_t lost = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 9973)
    lost += comes_back(static_cast<std::uint32_t>(bits)) ? 0 : 1;
  CHECK(lost == 0);
}

TEST_CASE("fixed value: a number that no float32 is is refused") {
  const Field field = column_of(Kind::real, "<f4");
  for (const double number : {0.1, 1e39, -1e39, std::numeric_limits<double>::max(), 1e-50,
                              16'777'217.0, std::bit_cast<double>(0x7ff8'0000'0000'0001U),
                              std::bit_cast<double>(0x7ff0'0000'0000'0001U)}) {
    CAPTURE(number);
    const Error error = error_of([&] { (void)written(number, field); });
    CHECK(error.code() == Code::schema);
    CHECK(error.message().find("field 'x'") != std::string::npos);
  }
}

TEST_CASE("fixed value: every double comes back bit by bit") {
  for (const std::string_view dtype : {"", "<f8"}) {
    const Field field = column_of(Kind::real, dtype);
    for (const std::uint64_t bits :
         {std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1}, 0x7ff0'0000'0000'0001U,
          0xfff8'dead'beef'0001U, 0x7fef'ffff'ffff'ffffU}) {
      const double number = read_number(bytes_of(bits), field).real;
      CHECK(std::bit_cast<std::uint64_t>(number) == bits);
      CHECK(as_text(written(number, field)) == as_text(bytes_of(bits)));
    }
  }
}

TEST_CASE("fixed value: a column is the field that holds its elements, and that field's column") {
  struct Row {
    std::string_view dtype;
    Kind kind;
    std::string_view of_field;
  };
  constexpr Row kRows[] = {{"|b1", Kind::integer, "|b1"},        {"|i1", Kind::integer, "|i1"},
                           {"|u1", Kind::integer, "|u1"},        {"<i2", Kind::integer, "<i2"},
                           {"<u2", Kind::integer, "<u2"},        {"<i4", Kind::integer, "<i4"},
                           {"<u4", Kind::integer, "<u4"},        {"<i8", Kind::integer, ""},
                           {"<u8", Kind::tensor, "<u8"},         {"<f2", Kind::tensor, "<f2"},
                           {"<f4", Kind::real, "<f4"},           {"<f8", Kind::real, ""},
                           {"<f16", Kind::tensor, "<f16"},       {"<c8", Kind::tensor, "<c8"},
                           {"<M8[ns]", Kind::tensor, "<M8[ns]"}, {"|S1", Kind::tensor, "|S1"},
                           {"<U1", Kind::tensor, "<U1"},         {"|V4", Kind::tensor, "|V4"}};
  for (const Row& row : kRows) {
    CAPTURE(row.dtype);
    const DType dtype = DType::parse(row.dtype);
    const Field scalar = field_of_column("x", dtype, {});
    CHECK(scalar.kind == row.kind);
    CHECK(scalar.dtype.descr() == row.of_field);
    CHECK(dtype_of_column(scalar) == dtype);
    CHECK(fixed_bytes_of(scalar) == dtype.item_bytes());
    const Field tensor = field_of_column("x", dtype, {2, 3});
    CHECK(tensor.kind == Kind::tensor);
    CHECK(tensor.shape == std::vector<std::uint64_t>{2, 3});
    CHECK(fixed_bytes_of(tensor) == 6 * dtype.item_bytes());
  }
}

TEST_CASE("fixed value: values of bytes, text and lists have no one size") {
  for (const Kind kind : {Kind::bytes, Kind::text, Kind::list}) {
    const Field field = column_of(kind, "");
    CHECK(fixed_bytes_of(field) == std::nullopt);
    CHECK(!has_fixed_fields({.fields = {column_of(Kind::integer, ""), field}}));
  }
  CHECK(
      has_fixed_fields({.fields = {column_of(Kind::integer, ""), column_of(Kind::tensor, "<f4")}}));
  CHECK(!has_fixed_fields({}));
}

TEST_CASE("fixed value: an index holds numbers as 64 bits, a column as their dtype") {
  const Field label = field_of_column("label", DType::parse("<i8"), {});
  const Field pixels = field_of_column("pixels", DType::parse("|u1"), {4, 4});
  const Field image{.name = "image", .kind = Kind::bytes, .dtype = {}, .shape = {}};

  CHECK_FALSE(stored_dtype_of(label, RowStorage::indexed()).has_value());
  CHECK_FALSE(stored_dtype_of(image, RowStorage::indexed()).has_value());
  CHECK(stored_dtype_of(pixels, RowStorage::indexed()).value().descr() == "|u1");
  CHECK(stored_dtype_of(label, RowStorage::columns()).value().descr() == "<i8");
  CHECK(stored_dtype_of(pixels, RowStorage::columns()).value().descr() == "|u1");
}

}  // namespace
}  // namespace shale
