#include <string>

#include <doctest/doctest.h>

#include "shale/data/json_text.hpp"

namespace shale {

TEST_CASE("json text: what is JSON has no fault") {
  for (const char* text :
       {"{}", " [1, -0.5e3, null] ", "\"h\xc3\xa9\"", "true", "0", "{\"a\": [{}]}"}) {
    CAPTURE(text);
    CHECK(json_fault(text) == std::nullopt);
  }
}

TEST_CASE("json text: what is not has one, with the byte") {
  for (const auto& [text, at] : {std::pair<std::string, std::string>{"", "0"},
                                 {"{\"a\": 1,}", "8"},
                                 {"[1, NaN]", "4"},
                                 {"{} {}", "3"},
                                 {"'a'", "0"}}) {
    const std::string shown = text;
    CAPTURE(shown);
    CHECK(json_fault(text).value_or("").starts_with("it does not parse at byte"));
    CHECK(json_fault(text).value_or("").ends_with(at));
  }
  CHECK(json_fault("\"\xff\"").has_value());
}

TEST_CASE("json text: nesting takes no stack") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK(json_fault(deep) == std::nullopt);
  CHECK(json_fault(std::string(1'000'000, '[')).has_value());
}

TEST_CASE("json text: a string is quoted as JSON demands it, and read as it was") {
  const std::string text = "a \"b\" \\ \n\x01 \xc3\xa4";

  const std::string quoted = json_quoted(text);

  CHECK(quoted == "\"a \\\"b\\\" \\\\ \\u000a\\u0001 \xc3\xa4\"");
  CHECK(parse_json(quoted).value().text == text);
}

TEST_CASE("json text: a document is read as a tree, of limited depth") {
  const auto root = parse_json(
      R"({"a": [1, -2.50, "x", null, true], "b": {"c": {}}, "a": 18446744073709551615})");
  REQUIRE(root);
  CHECK(root->find("a")->text == "18446744073709551615");
  const JsonValue& list = root->elements[0];
  REQUIRE(list.elements.size() == 5);
  CHECK(list.elements[1].text == "-2.50");
  CHECK(list.elements[2].type == JsonValue::Type::string);
  CHECK(list.elements[4].text == "true");
  CHECK(root->find("b")->find("c")->type == JsonValue::Type::object);
  CHECK(root->find("d") == nullptr);
  CHECK(!parse_json("{\"a\": 1,}"));
  CHECK(parse_json(std::string(64, '[') + std::string(64, ']')));
  CHECK(!parse_json(std::string(65, '[') + std::string(65, ']')));
}

}  // namespace shale
