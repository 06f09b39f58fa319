#include <doctest/doctest.h>

#include "shale/manifest/json_list.hpp"

namespace shale {
namespace {

TEST_CASE("json list: numbers, strings and equally long lists of numbers are taken, nothing else") {
  struct Row {
    std::string_view json, text;
  };
  const auto text_of = [](std::string_view json) {
    const std::optional<JsonList> list = parse_json_list(json);
    if (!list) return std::string("none");
    std::string text;
    for (const std::uint64_t side : list->sides)
      text += (text.empty() ? "" : "x") + std::to_string(side);
    if (list->has_texts()) return text + " texts";
    if (!list->has_numbers()) return text;
    return text + (list->has_reals ? " reals" : " integers") + (list->is_exact ? "" : ", inexact");
  };
  constexpr Row kRows[] = {
      {"[]", "0"},
      {"[ 1, -2 ]", "2 integers"},
      {"[1, 2.5]", "2 reals"},
      {"[1e2]", "1 reals"},
      {"[[1, 2, 3, 4], [5, 6, 7, 8]]", "2x4 integers"},
      {"[[0.5], [1]]", "2x1 reals"},
      {"[[], []]", "2x0"},
      {"[\"a\", \"\"]", "2 texts"},
      {"[9223372036854775807]", "1 integers, inexact"},
      {"[9007199254740993, 0.5]", "2 reals, inexact"},
      {"[9223372036854775808]", "none"},
      {"[99999999999999999999]", "none"},
      {"[1, \"a\"]", "none"},
      {"[\"a\", 1]", "none"},
      {"[[1, 2], [3]]", "none"},
      {"[[1], 2]", "none"},
      {"[2, [1]]", "none"},
      {"[[\"a\"]]", "none"},
      {"[[[1]]]", "none"},
      {"[null]", "none"},
      {"[true]", "none"},
      {"[{}]", "none"},
      {"{\"a\": [1]}", "none"},
      {"1", "none"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.json);
    CHECK(text_of(row.json) == row.text);
  }
}

TEST_CASE("json list: the numbers are those of the text, integers beside reals too") {
  CHECK(parse_json_list("[3, -9223372036854775808]")->integers ==
        std::vector<std::int64_t>{3, INT64_MIN});
  CHECK(parse_json_list("[[1, 2], [0.1, -4]]")->reals == std::vector<double>{1, 2, 0.1, -4});
  CHECK(parse_json_list("[\"a\\u00e9\\n\"]")->texts == std::vector<std::string>{"a\u00e9\n"});
  CHECK(!parse_json_list(std::string(1 << 20, '[') + std::string(1 << 20, ']')));
}

}  // namespace
}  // namespace shale
