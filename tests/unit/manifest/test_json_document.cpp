#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/manifest/json_document.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// "name:element" of each element, "name" of each member that is not asked for.
std::vector<std::string> elements_in(const std::string& content,
                                     std::string_view passed_over = "") {
  const TempDir dir;
  write_file(dir / "a.json", content);
  JsonDocument document(dir / "a.json");
  std::vector<std::string> found;
  while (document.next_member()) {
    found.push_back(document.name());
    if (document.name() == passed_over) continue;
    while (const auto element = document.next_element())
      found.push_back(document.name() + ":" + std::string(*element));
  }
  return found;
}

TEST_CASE("json document: elements come as they are written, whatever lies between them") {
  CHECK(elements_in(
            "\xEF\xBB\xBF {\"a\" : [ 1, \"]\\\"\" ,{\"x\":[{}]}],\n\"b\":{\"c\":[2]},\"d\":[],"
            "\"e\":null }\n",
            "b") == std::vector<std::string>{"a", "a:1", "a:\"]\\\"\"", "a:{\"x\":[{}]}", "b", "d",
                                             "e", "e:null"});
  CHECK(elements_in("{}").empty());
}

TEST_CASE("json document: an element that goes over the end of a piece is whole") {
  const std::string element = "\"" + std::string(300'000, 'x') + "\\\\\"";
  const std::string content = "{\"a\":[" + element + "," + element + "],\"b\":[" + element + "]}";
  CHECK(elements_in(content) ==
        std::vector<std::string>{"a", "a:" + element, "a:" + element, "b", "b:" + element});
  CHECK(elements_in(content, "a") == std::vector<std::string>{"a", "b", "b:" + element});
}

TEST_CASE("json document: what ends too early, or is another thing, is refused") {
  const std::string whole = R"({"a":[1,{"b":"c"}],"d":2})";
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    for (const std::string_view passed_over : {"", "a"}) {
      const Error error = error_of([&] { (void)elements_in(whole.substr(0, bytes), passed_over); });
      CHECK(error.code() == Code::bad_content);
    }
  }
  for (const std::string_view bad :
       {"[1]", "{1:2}", "{\"a\":1}x", "{\"a\" 1}", "{\"a\":,}", "{\"a\":[1 2]}", "{\"a\":[1,]}",
        "{\"a\":1 \"b\":2}", "\xFF\xFE{"}) {
    CAPTURE(bad);
    CHECK(error_of([&] { (void)elements_in(std::string(bad)); }).code() == Code::bad_content);
  }
}

TEST_CASE("json document: members of an object come as they are written, of anything else none") {
  std::vector<std::string> found;
  const auto take = [&](std::string_view name, std::string_view value) {
    found.push_back(std::string(name) + "=" + std::string(value));
  };
  CHECK(for_each_member(R"({ "a" : "x\"," , "b":[1,{"c":2}] })", take));
  CHECK(found == std::vector<std::string>{R"(a="x\",")", R"(b=[1,{"c":2}])"});
  for (const std::string_view bad : {"", "1", "{", "{\"a\"", "{\"a\":", "{\"a\":}", "{\"a\":1",
                                     "{\"a\":1,}", "{\"a\":1}2", "{a:1}", "{,}"}) {
    CAPTURE(bad);
    CHECK_FALSE(for_each_member(bad, [](std::string_view, std::string_view) {}));
  }
}

}  // namespace
}  // namespace shale
