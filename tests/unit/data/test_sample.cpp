#include <doctest/doctest.h>

#include "shale/data/sample.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

Schema one_field(Kind kind) {
  Field field{.name = "f", .kind = kind, .dtype = {}, .shape = {}};
  if (kind == Kind::tensor) {
    field.dtype = DType::parse("<f4");
    field.shape = {2, 3};
  }
  return {{field}};
}

constexpr std::string_view kTwentyFour = "012345678901234567890123";

Value value_of(Kind kind) {
  if (kind == Kind::integer) return std::int64_t{1};
  if (kind == Kind::real) return 1.0;
  if (kind == Kind::list) return std::vector<Bytes>{as_bytes("frame")};
  return as_bytes(kTwentyFour);
}

constexpr Kind kKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                           Kind::real,  Kind::tensor, Kind::list};

}  // namespace

TEST_CASE("check sample: a value of each kind fits its own field and no other") {
  for (const Kind field : kKinds) {
    for (const Kind held : kKinds) {
      CAPTURE(name_of(field));
      CAPTURE(name_of(held));
      const Sample sample{"cat/7", {value_of(held)}};
      if (value_of(field).index() == value_of(held).index()) {
        CHECK_NOTHROW(check_sample(sample, one_field(field)));
      } else {
        const Error error = error_of([&] { check_sample(sample, one_field(field)); });
        CHECK(error.code() == Code::schema);
        CHECK(error.sample()->key == "cat/7");
        CHECK(error.message().starts_with("field 'f' holds "));
        CHECK(error.message().ends_with("expected kind " + std::string(name_of(field))));
      }
    }
  }
}

TEST_CASE("check sample: a tensor of another size is refused with both numbers") {
  const Sample sample{"k", {as_bytes(kTwentyFour.substr(1))}};
  CHECK(error_of([&] { check_sample(sample, one_field(Kind::tensor)); }).what() ==
        std::string("sample 'k': field 'f' is a tensor of 23 bytes, expected 24"));
}

TEST_CASE("check sample: text must be UTF-8, bytes need not") {
  const Sample sample{"k", {as_bytes("caf\xe9")}};
  CHECK_NOTHROW(check_sample(sample, one_field(Kind::bytes)));
  CHECK(error_of([&] { check_sample(sample, one_field(Kind::text)); }).message() ==
        "field 'f' is text, but its bytes are not UTF-8");
}

TEST_CASE("check sample: a field too few or too many is refused with both numbers") {
  CHECK(error_of([] {
          check_sample({"k", {}}, one_field(Kind::real));
        }).message() == "0 fields found, expected 1");
  CHECK(error_of([] {
          check_sample({"k", {1.0, 1.0}}, one_field(Kind::real));
        }).message() == "2 fields found, expected 1");
}

TEST_CASE("check sample: the field at fault is named, not the first one") {
  Schema schema = one_field(Kind::real);
  schema.fields.push_back({.name = "label", .kind = Kind::integer, .dtype = {}, .shape = {}});
  CHECK(error_of([&] {
          check_sample({"k", {1.0, 2.0}}, schema);
        }).message() == "field 'label' holds a real, expected kind integer");
}

TEST_CASE("check sample: a value may be absent only where that is said") {
  const Sample sample{"k", {std::monostate()}};
  CHECK_NOTHROW(check_sample(sample, one_field(Kind::bytes), true));
  CHECK(error_of([&] { check_sample(sample, one_field(Kind::bytes)); }).message() ==
        "field 'f' holds nothing, expected kind bytes");
}

}  // namespace shale
