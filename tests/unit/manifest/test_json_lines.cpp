#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/manifest/json_lines.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// "line:name=text(kind)" of each member.
std::vector<std::string> members_in(const std::string& content) {
  const TempDir dir;
  write_file(dir / "a.jsonl", content);
  std::vector<std::string> found;
  read_json_lines(dir / "a.jsonl", [&](std::uint64_t line, const std::vector<JsonMember>& members) {
    for (const JsonMember& member : members)
      found.push_back(std::to_string(line) + ":" + member.name + "=" + member.text + "(" +
                      std::string(name_of(member.kind)) + ")");
  });
  return found;
}

TEST_CASE("json lines: members come with their kinds, strings decoded, the rest as written") {
  CHECK(members_in("\xEF\xBB\xBF{\"a\": \"x\\u00e9\\n\", \"b\":-12 ,\"c\":1.50}\r\n\n{}\n"
                   "{\"n\":{\"q\":[1,\"}\"]},\"t\":true,\"z\":null}") ==
        std::vector<std::string>{"1:a=x\xc3\xa9\n(a string)", "1:b=-12(an integer)",
                                 "1:c=1.50(a real)", "4:n={\"q\":[1,\"}\"]}(an array or object)",
                                 "4:t=true(a boolean)", "4:z=null(null)"});
}

TEST_CASE("json lines: what is no object, comes twice or is too long is refused with its line") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(members_in("{\"a\":" + deep + "}").size() == 1);
  for (const std::string& bad :
       {std::string("[1]"), std::string("{\"a\":1e999}"), std::string("{\"a\":1,\"a\":2}"),
        std::string("{\"a\":"), std::string("{\"a\":NaN}"), "{\"a\":" + std::string(100'000, '['),
        "{\"a\":\"" + std::string(3 << 20, 'x') + "\"}"}) {
    const Error error = error_of([&] { (void)members_in("{}\n" + bad + "\n"); });
    CHECK(error.code() == Code::bad_content);
    CHECK(error.message().find("line 2 ") != std::string::npos);
  }
}

}  // namespace
}  // namespace shale
