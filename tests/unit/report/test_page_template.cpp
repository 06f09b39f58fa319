#include <string>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/report/page_template.hpp"

#include "tests/support/temp_dir.hpp"

using namespace shale;

namespace {

std::string filled(std::string_view name, const Json& facts) {
  return fill_template(name, facts, Json::object(), {});
}

}  // namespace

TEST_CASE("template: a name is one of the innermost object, never of those around it") {
  // The class has no name, and what is around it has one.
  CHECK(filled("class_name", {{"label", 3}}) == "label 3");
  CHECK(filled("class_name", {{"name", "<b>"}, {"label", 3}}) == "<bdi>&lt;b&gt;</bdi>");
  const Json reason = {{"reason", "empty"}, {"count", 1200}, {"examples", {"a.jpg", "b\\xff.jpg"}}};
  CHECK(filled("reason", reason) ==
        "<tr><th scope=\"row\">empty</th><td class=\"number\">1,200</td><td><bdi>a.jpg</bdi><br/>"
        "<bdi>b\\xff.jpg</bdi></td></tr>");
}

TEST_CASE("template: 0 is a number that is shown, and lines without content are left out") {
  const Json facts = {{"left_out", {{"skipped", 0}, {"ignored", 2}}}};
  const std::string html = filled("left_out", facts);
  CHECK(html.find("<dd>0</dd>") != std::string::npos);
  CHECK(html.find("<dd>2</dd>") != std::string::npos);
  CHECK(html.find("by reason") == std::string::npos);
  CHECK(html.find("\n\n") == std::string::npos);
}

TEST_CASE("template: a file or a filter that does not exist is a bug") {
  CHECK(test::error_of([] { (void)filled("none", {}); }).code() == Code::bug);
  const Json value = 1;
  CHECK(test::error_of([&] { (void)apply_filter("none", {value, {}, {}}); }).code() == Code::bug);
}

TEST_CASE("filters: words for counts, shares and scopes") {
  const auto words = [](std::string_view filter, const Json& value,
                        const std::vector<Json>& arguments = {}) {
    return apply_filter(filter, {value, arguments, {}});
  };
  CHECK(words("counted", 1, {"class", "classes"}) == "1 class");
  CHECK(words("counted", {1, 2}, {"image"}) == "2 images");
  CHECK(words("plural", 1, {"has", "have"}) == "has");
  CHECK(words("share", 1, {5000}) == "< 0.1 %");
  CHECK(words("share", 1, {8}) == "12.5 %");
  CHECK(words("scope", {{"looked_at", 5}, {"of", 6000}}, {"sample"}) == "5 of 6,000 samples");
  CHECK(words("scope", {{"looked_at", 1}, {"of", 1}}, {"row"}) == "the only row");
  CHECK(words("scope", {{"looked_at", 0}, {"of", 1}}, {"row"}) == "");
  CHECK(words("shorten", "ab\\xffcd", {"5"}) == "ab…");
  CHECK(words("last_part", "a/b.jpg") == "b.jpg");
  CHECK(words("dataset", "x/y//") == "y");
  CHECK(words("dataset", "..") == "..");
}
