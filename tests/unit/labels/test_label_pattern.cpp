#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/labels/label_pattern.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

namespace {

TEST_CASE("label pattern: the class in the name of a file, by places or by a named group") {
  struct Row {
    std::string pattern, path, label;  // "": it does not fit
  };
  const Row rows[] = {
      {"{label}_{*}.jpg", "american_bulldog_12.jpg", "american_bulldog"},
      {"{label}_{*}.jpg", "a/b_c/cat_1.jpg", "cat"},
      {"{label}_{*}.jpg", "cat.jpg", ""},
      {"{label}_{*}.jpg", "_1.jpg", ""},
      {"{label}_{*}.jpg", "cat_1.jpgx", ""},
      {"{label}.{*}.jpg", "cat.12.jpg", "cat"},
      {"img{*}-{label}.png", "img007-3.png", "3"},
      {"{label}/img/{*}", "cat/img/1.jpg", "cat"},
      {"{label}/img/{*}", "x/cat/img/1.jpg", ""},
      {"a+b({label})[1]", "a+b(cat)[1]", "cat"},
      {"(?P<label>[a-z]+)\\d+", "cam1/dog12.jpg", "cam"},
      {"/(?P<label>[a-z]+)\\d+", "cam1/dog12.jpg", "dog"},
      {"^([a-z]+)(?:\\d+)[(]?/(?<label>.)", "cam1/dog12.jpg", "d"},
      {"\\((?<label>\\w+)\\)", "x (cat).jpg", "cat"},
      {"(?P<label>x)|cat", "cat.jpg", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.pattern);
    CAPTURE(row.path);
    CHECK(LabelPattern(row.pattern).label_in(row.path).value_or("") == row.label);
  }
  CHECK(!LabelPattern("{label}.jpg").label_in(std::string(5000, 'a') + ".jpg"));
}

TEST_CASE("label pattern: one that says nothing of the label is refused") {
  for (const char* text :
       {"", "cat", "{label}{label}", "([a-z]+)", "(?P<label>[a-z", "(?P<label>a))"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)LabelPattern(text); }).code() == Code::usage);
  }
}

TEST_CASE("label pattern: a label that holds part of a character is refused, with the name") {
  const std::string name = "s\xC3\xBC_1.jpg";
  const Error error = error_of([&] { (void)LabelPattern("(?P<label>s.)").label_in(name); });
  CHECK(error.code() == Code::usage);
  CHECK(error.file() == name);
  CHECK(LabelPattern("(?P<label>[^_]+)").label_in(name) == "s\xC3\xBC");
}

TEST_CASE("label pattern: an expression that would be at it for years is refused, with the name") {
  const std::string name = std::string(60, 'a') + "!.jpg";
  for (const char* text : {"(?P<label>(a+)+)$", "(?P<label>(?:a|a)*)b", "(?P<label>(?:|){60})x"}) {
    CAPTURE(text);
    const Error error = error_of([&] { (void)LabelPattern(text).label_in(name); });
    CHECK(error.code() == Code::usage);
    CHECK(std::string(error.what()).find(name) != std::string::npos);
  }
  const std::string longest(1024, 'a');  // quadratic: every start, up to the end
  CHECK(!LabelPattern("(?P<label>[a-z]+)_").label_in(longest));
  CHECK(LabelPattern("(?P<label>.*)a$").label_in(longest)->size() == 1023);
}

}  // namespace
}  // namespace shale
