#include <string>

#include <doctest/doctest.h>

#include "shale/datasets/yaml_text.hpp"

namespace shale {
namespace {

std::string text_of(const JsonValue& value) {
  std::string text;
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    if (!value.names.empty()) text += value.names[i] + ":";
    text += text_of(value.elements[i]) + " ";
  }
  if (value.type == JsonValue::Type::array) return "[" + text + "]";
  return value.type == JsonValue::Type::object ? "{" + text + "}" : value.text;
}

std::string parsed(std::string_view yaml) {
  const std::optional<JsonValue> value = parse_yaml(yaml);
  return value ? text_of(*value) : "none";
}

TEST_CASE("yaml text: mappings, lists and scalars are those of JSON, as they are written") {
  CHECK(parsed("a: 1\nb: [x, 'y z', \"w\\u00e4\"]\n") == "{a:1 b:[x y z w\u00e4 ] }");
  CHECK(parsed("- split: train\n  path: data/train-*\n- no\n") ==
        "[{split:train path:data/train-* } no ]");
  CHECK(parsed("names:\n  '0': \"no\"\n  '1': ~\n") == "{names:{0:no 1:~ } }");
}

TEST_CASE("yaml text: what is not YAML, and what has aliases, is none") {
  for (const std::string_view yaml : {"", "a: [1", "a: b: c", "a: &x 1\nb: *x\n", "[a, b]: c",
                                      "\t- a", "a: \"\xff\"", "{a: ]}"}) {
    CAPTURE(yaml);
    CHECK(parsed(yaml) == "none");
  }
}

TEST_CASE("yaml text: what nests deeper, or has more values, than anybody writes is refused") {
  const auto nested = [](std::size_t depth) {
    return parse_yaml(std::string(depth, '[') + std::string(depth, ']')).has_value();
  };
  CHECK(nested(64));
  CHECK_FALSE(nested(65));
  CHECK_FALSE(nested(100'000));
  std::string many = "[";
  for (int i = 0; i < 65'536; ++i) many += "a,";
  CHECK_FALSE(parse_yaml(many + "]"));
}

}  // namespace
}  // namespace shale
