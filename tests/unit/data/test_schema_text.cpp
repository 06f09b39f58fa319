#include <doctest/doctest.h>

#include "shale/data/schema_text.hpp"

#include "tests/support/sample_sets.hpp"

namespace shale {
namespace {

TEST_CASE("schema text: fields of every kind come back") {
  const Schema varied = test::varied_schema();
  const std::string text = schema_text(varied);
  CHECK(text.starts_with("photo\tbytes?\nboxes\tfloat32 (?, 4)\ntokens\tuint16 (?)\n"));
  CHECK(parse_schema_text(text).value() == varied);
}

TEST_CASE("schema text: there is none of a schema that values alone give back") {
  constexpr Kind kKinds[] = {Kind::bytes, Kind::text,   Kind::integer,
                             Kind::real,  Kind::tensor, Kind::list};
  CHECK(schema_text(test::schema_of(kKinds)).empty());
  CHECK(schema_text(test::fixed_schema_of(kKinds)).empty());
}

TEST_CASE("schema text: there is none where a type has no spelling of its own") {
  const Field image{.name = "image", .is_optional = true};
  const Field table{.name = "table",
                    .kind = Kind::tensor,
                    .dtype = DType::parse("[('a', '<i8'), ('b', '<f4')]"),
                    .shape = {kFreeSide}};
  const std::string text = schema_text({.fields = {image, table}});
  CHECK((text.empty() || parse_schema_text(text).value().fields[1] == table));
}

TEST_CASE("schema text: other bytes are no schema") {
  for (const std::string_view text :
       {"", "image", "image\tbytes", "image\n", "image\tpicture of a cat\n", "\tbytes\n",
        "image\tbytes\nimage\tbytes\n", "a.b\tbytes\n", "image\tbytes\n\n", "image\tbytes\nx"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_schema_text(text).has_value());
  }
}

}  // namespace
}  // namespace shale
