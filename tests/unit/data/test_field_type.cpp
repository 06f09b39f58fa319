#include <string>

#include <doctest/doctest.h>

#include "shale/data/field_type.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

std::string respelled(const std::string& text) { return field_type_text(parse_field_type(text)); }

}  // namespace

TEST_CASE("field type: each has one spelling, which means itself") {
  for (const std::string text : {"bytes",
                                 "text",
                                 "json",
                                 "integer",
                                 "real",
                                 "int32",
                                 "bool",
                                 "float32",
                                 "list",
                                 "list of text",
                                 "float32 (3, 224, 224)",
                                 "float32 (?, 4)",
                                 "int64 (?)",
                                 "uint8 (5,)",
                                 "uint64 ()",
                                 "datetime64[ns] ()",
                                 "complex64 (2, 2)",
                                 "bfloat16 (?, 4)",
                                 "float8_e4m3b11fnuz ()",
                                 "text?",
                                 "json?",
                                 "int32?",
                                 "float32 (?, 4)?",
                                 "list of text?"}) {
    CAPTURE(text);
    CHECK(respelled(text) == text);
  }
}

TEST_CASE("field type: what other programs and people call it") {
  for (const auto& [given, meant] : {std::pair<std::string, std::string>{"str", "text"},
                                     {"string?", "text?"},
                                     {"int", "integer"},
                                     {"int64", "integer"},
                                     {"float64", "real"},
                                     {"jpeg", "bytes"},
                                     {"pil", "bytes"},
                                     {"list of bytes", "list"},
                                     {"list[bytes]", "list"},
                                     {"list[str]", "list of text"},
                                     {"list[int]", "int64 (?)"},
                                     {"list[float32]", "float32 (?)"},
                                     {"list of float32 (4,)", "float32 (?, 4)"},
                                     {"np.float32", "float32"},
                                     {"numpy.uint8 ( None,3 )", "uint8 (?, 3)"},
                                     {"<f4 (-1, 4)", "float32 (?, 4)"},
                                     {"torch.bfloat16 (2)", "bfloat16 (2,)"},
                                     {"list[float8_e4m3fn]", "float8_e4m3fn (?)"},
                                     {"float16 (2)", "float16 (2,)"}}) {
    const std::string shown = given;
    CAPTURE(shown);
    CHECK(respelled(given) == meant);
  }
}

TEST_CASE("field type: anything else is refused, with what there is") {
  for (const std::string text :
       {"", "?", "int12", "float32 (", "float32 (a)", "list[", "list[json]", "list[list[int]]",
        "object", "bfloat17", "text ?? ", "-1", "<i3"}) {
    CAPTURE(text);
    const Error error = error_of([&] { (void)parse_field_type(text); });
    CHECK(error.code() == Code::usage);
    CHECK(error.hint().find("float32 (?, 4)") != std::string::npos);
  }
}

TEST_CASE("field type: a field with its name") {
  Field field = parse_field_type("float32 (?, 4)?");
  field.name = "boxes";
  CHECK(field_text(field) == "boxes float32 (?, 4)?");
  field = parse_field_type("json");
  field.name = "meta";
  CHECK(field_text(field) == "meta (json)");
}

}  // namespace shale
