#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/manifest/manifest_json.hpp"
#include "shale/manifest/name_json.hpp"
#include "shale/manifest/plain_shard_line.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

TEST_CASE("name json: any bytes come back, and the text is UTF-8") {
  for (const std::string name :
       {"cat", "", "\xff.lmdb", "a\\b", "\"\n", "\xe2\x98\x83", "\xed\xa0\x80"}) {
    CAPTURE(name);
    const Json json = name_to_json(name);
    CHECK(is_utf8(json.dump()));
    CHECK(name_from_json(Json::parse(json.dump())) == name);
  }
}

TEST_CASE("name json: what is no name is damage") {
  for (const char* text :
       {"7", "null", "[]", "{}", R"({"bytes":1})", R"({"bytes":"f"})", R"({"bytes":"FF"})"}) {
    CAPTURE(text);
    CHECK(error_of([&] { (void)name_from_json(Json::parse(text)); }).code() == Code::damaged);
  }
}

TEST_CASE("shard line: the files of a single file may be hidden, and have any bytes but a slash") {
  for (const std::string name : {"\xff.lmdb", ".hidden.lmdb", "a\\b.lmdb"}) {
    CAPTURE(name);
    ManifestShard shard;
    shard.name = name;
    shard.files = {{name, 7, {}}};
    shard.index = {name + ".index.npy", 200, {1, 2}};
    shard.elements = {name + ".elements.npy", 9, {1, 2}};
    const ManifestShard read = parse_shard_line(shard_line(shard), 1 << 20);
    CHECK(read.files[0].name == name);
    CHECK(read.index.name == shard.index.name);
    CHECK(read.elements.name == shard.elements.name);
  }
  for (const std::string name : {"..", ".", "", "a/b"}) {
    CAPTURE(name);
    ManifestShard shard;
    shard.files = {{name, 7, {}}};
    CHECK(error_of([&] { (void)parse_shard_line(shard_line(shard), 1 << 20); }).code() ==
          Code::damaged);
  }
}

}  // namespace
}  // namespace shale
