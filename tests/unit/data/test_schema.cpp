#include <algorithm>

#include <doctest/doctest.h>

#include "shale/data/schema.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

Field tensor(std::vector<std::uint64_t> shape, std::string_view descr = "<f4") {
  return {
      .name = "x", .kind = Kind::tensor, .dtype = DType::parse(descr), .shape = std::move(shape)};
}

Schema schema_of(std::vector<std::string> names) {
  Schema schema;
  for (std::string& name : names)
    schema.fields.push_back({.name = std::move(name), .dtype = {}, .shape = {}});
  return schema;
}

}  // namespace

TEST_CASE("kind: numbers and names are what the canonical sample fixes") {
  constexpr std::string_view kNames[] = {"bytes", "text", "integer", "real", "tensor", "list"};
  for (std::uint8_t number = 0; number < 6; ++number) {
    CHECK(name_of(static_cast<Kind>(number)) == kNames[number]);
    CHECK(kind_named(kNames[number]) == static_cast<Kind>(number));
  }
  CHECK(error_of([] { (void)kind_named("Bytes"); }).code() == Code::damaged);
  CHECK(error_of([] { (void)kind_named(""); }).code() == Code::damaged);
}

TEST_CASE("kind: integers and reals stand in the index, all else is located") {
  CHECK_FALSE(is_located(Kind::integer));
  CHECK_FALSE(is_located(Kind::real));
  for (const Kind kind : {Kind::bytes, Kind::text, Kind::tensor, Kind::list})
    CHECK(is_located(kind));
}

TEST_CASE("ragged: a shape fits if its sides are those that are not free") {
  const Field boxes = tensor({kFreeSide, 4});
  CHECK(boxes.is_ragged());
  CHECK_FALSE(boxes.has_fixed_size());
  CHECK_FALSE(tensor({2, 4}).is_ragged());
  const std::vector<std::uint64_t> seven = {7, 4}, none = {0, 4}, wrong = {7, 5}, flat = {28};
  CHECK(shape_fits(seven, boxes.shape));
  CHECK(shape_fits(none, boxes.shape));
  CHECK_FALSE(shape_fits(wrong, boxes.shape));
  CHECK_FALSE(shape_fits(flat, boxes.shape));
  CHECK_FALSE(shape_fits(boxes.shape, boxes.shape));
  CHECK(boxes.tensor_bytes(seven) == 112);
  CHECK(boxes.tensor_bytes(none) == 0);
  const std::vector<std::uint64_t> huge = {std::uint64_t{1} << 61, 4};
  CHECK(error_of([&] { (void)boxes.tensor_bytes(huge); }).code() == Code::limit);
}

TEST_CASE("ragged: what a file says of a value must have the sides of the field and its bytes") {
  const Field boxes = tensor({kFreeSide, 4});
  const std::uint64_t huge = std::uint64_t{1} << 62;
  struct Row {
    std::vector<std::uint64_t> shape;
    std::uint64_t bytes;
    bool is_taken;
  };
  const Row rows[] = {{{7, 4}, 112, true},          {{0, 4}, 0, true},
                      {{7, 4}, 111, false},         {{14, 2}, 112, false},
                      {{28}, 112, false},           {{7, 4, 1}, 112, false},
                      {{huge, 4}, 0, false},        {{huge, 4}, 112, false},
                      {{kFreeSide, 4}, 112, false}, {{kFreeSide, 0}, 0, false}};
  for (const Row& row : rows) CHECK(boxes.takes_tensor(row.shape, row.bytes) == row.is_taken);
  const std::vector<std::uint64_t> hollow = {huge, huge, 0};
  CHECK(tensor({kFreeSide, kFreeSide, kFreeSide}).takes_tensor(hollow, 0));
}

TEST_CASE("shape walk: gives each field the sides that are its own") {
  const std::vector<std::uint64_t> sides = {7, 4, 9};
  ShapeWalk walk(sides);
  CHECK(std::ranges::equal(walk.next(tensor({kFreeSide, 4})), std::vector<std::uint64_t>{7, 4}));
  CHECK(std::ranges::equal(walk.next(tensor({2, 3})), std::vector<std::uint64_t>{2, 3}));
  CHECK(walk.next(Field{.name = "b"}).empty());
  CHECK(std::ranges::equal(walk.next(tensor({kFreeSide})), std::vector<std::uint64_t>{9}));
  CHECK(walk.left() == 0);
  CHECK(error_of([&] { (void)walk.next(tensor({kFreeSide})); }).code() == Code::bug);
}

TEST_CASE("tensor bytes: the product of the shape and the element") {
  CHECK(tensor({}).tensor_bytes() == 4);
  CHECK(tensor({2, 3}).tensor_bytes() == 24);
  CHECK(tensor({224, 224, 3}, "|u1").tensor_bytes() == 150'528);
  CHECK(tensor({std::uint64_t{1} << 60}).tensor_bytes() == std::uint64_t{1} << 62);
}

TEST_CASE("tensor bytes: a shape with a side of 0 holds nothing, whatever its other sides") {
  CHECK(tensor({0}).tensor_bytes() == 0);
  CHECK(tensor({~std::uint64_t{0}, ~std::uint64_t{0}, 0}).tensor_bytes() == 0);
}

TEST_CASE("tensor bytes: a product beyond 63 bits is a limit, never a wrapped number") {
  const std::vector<std::uint64_t> shapes[] = {{std::uint64_t{1} << 61},
                                               {~std::uint64_t{0}},
                                               {std::uint64_t{1} << 32, std::uint64_t{1} << 32}};
  for (const auto& shape : shapes) {
    const Error error = error_of([&] { (void)tensor(shape).tensor_bytes(); });
    CHECK(error.code() == Code::limit);
    CHECK(error.message().find("field 'x'") != std::string::npos);
  }
}

TEST_CASE("schema: a tensor of more than 2^63 bytes is refused") {
  Schema schema = schema_of({"a"});
  schema.fields[0] = tensor({std::uint64_t{1} << 40, std::uint64_t{1} << 40});
  const Error error = error_of([&] { validate_schema(schema); });
  CHECK(error.code() == Code::schema);
  CHECK(error.message().starts_with("field 'x'"));
}

TEST_CASE("schema: a field is found by its exact name") {
  const Schema schema = schema_of({"image", "label"});
  CHECK(schema.find("label") == 1);
  CHECK_FALSE(schema.find("Label"));
  CHECK_FALSE(schema.find("lab"));
}

TEST_CASE("validate schema: honest names pass") {
  CHECK_NOTHROW(
      validate_schema(schema_of({"image", "label", "\u753b\u50cf", "a b", "x_offset", "Key", "0",
                                 "image/encoded", std::string(255, 'n'), "caf\u00e9"})));
}

TEST_CASE("validate schema: a name that cannot be is refused, and shown") {
  struct Row {
    std::string name;
    std::string_view said;
  };
  const Row rows[] = {{"", "is empty"},
                      {std::string(256, 'n'), "is longer than 255 bytes"},
                      {"a.b", "contains '.'"},
                      {std::string("a\0b", 3), "contains a control character"},
                      {"a\nb", "contains a control character"},
                      {"a\x7f", "contains a control character"},
                      {"a\xc2\x85", "contains a control character"},
                      {"a\u202E", "contains a control character"},
                      {"a\xff", "is not UTF-8"}};
  for (const Row& row : rows) {
    const Error error = error_of([&] { validate_schema(schema_of({"image", row.name})); });
    CAPTURE(error.message());
    CHECK(error.code() == Code::schema);
    CHECK(error.message().starts_with("field name '"));
    CHECK(error.message().ends_with(row.said));
  }
}

TEST_CASE("validate schema: reserved names are refused, the format's own too") {
  for (const char* name :
       {"offset", "length", "crc32c", "key_hash", "key", "record", "index", "blocks"}) {
    CAPTURE(name);
    CHECK(error_of([&] { validate_schema(schema_of({name})); }).message() ==
          "field name '" + std::string(name) + "' is reserved by the index");
  }
  constexpr std::string_view kMine[] = {"image_offset"};
  CHECK(error_of([&] {
          validate_schema(schema_of({"image", "image_offset"}), kMine);
        }).message() == "field name 'image_offset' is reserved by the format");
}

TEST_CASE("validate schema: there is a field, and a backslash in its name is honest") {
  CHECK(error_of([] { validate_schema({}); }).code() == Code::schema);
  CHECK_NOTHROW(validate_schema(schema_of({"a\\b"})));
}

TEST_CASE("validate schema: a name given twice and a tensor without dtype are refused") {
  CHECK(error_of([] {
          validate_schema(schema_of({"a", "b", "a"}));
        }).message() == "field 'a' occurs twice");
  Schema schema = schema_of({"a"});
  schema.fields[0].kind = Kind::tensor;
  CHECK(error_of([&] { validate_schema(schema); }).message() ==
        "field 'a' is a tensor without dtype");
}

}  // namespace shale
