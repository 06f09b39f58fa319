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

}  // namespace shale
