#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/flow/random_words.hpp"
#include "shale/manifest/manifest_json.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/manifest/plain_shard_line.hpp"

#include "tests/support/sampled_walk.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

bool is_equal(const ManifestShard& a, const ManifestShard& b) {
  return a.name == b.name && a.payload_bytes == b.payload_bytes && a.files == b.files &&
         a.index == b.index && a.blocks == b.blocks && a.elements == b.elements &&
         a.bases == b.bases && a.digest == b.digest && a.state == b.state;
}

ManifestShard random_shard(RandomWords& words) {
  const std::uint64_t what = words.next();
  ManifestShard shard;
  shard.name = shard_name(words.next() % 2'000'000);
  shard.payload_bytes = words.next() >> (what & 63);
  const auto file = [&](const char* suffix) {
    return ManifestFile{shard.name + suffix, words.next() >> (what >> 6 & 63),
                        (what >> 12 & 3) == 0 ? Hash128{} : Hash128{words.next(), words.next()}};
  };
  for (std::uint64_t i = 0; i < (what >> 14 & 3); ++i) shard.files.push_back(file(".toy"));
  if ((what >> 16 & 1) != 0) shard.index = file(".index.npy");
  if ((what >> 17 & 1) != 0) shard.elements = file(".elements.npy");
  if (shard.index.name.empty()) {
    for (std::uint64_t i = 0; i < (what >> 18 & 3); ++i) shard.bases.push_back(words.next());
  }
  if ((what >> 28 & 1) != 0) {
    const auto hash = [&] { return Hash128{words.next(), words.next()}; };
    shard.state = FileFingerprint{hash(), hash(), hash()};
  }
  shard.digest.samples = words.next() >> (what >> 20 & 63);
  if ((what >> 26 & 1) == 0) return shard;
  shard.blocks = file(".blocks.npy");
  shard.digest.content = {words.next(), words.next()};
  shard.digest.ordered = {words.next(), words.next()};
  if ((what >> 27 & 1) != 0) shard.digest.keys = {words.next(), words.next()};
  return shard;
}

// A blank in front is valid JSON, and not plain: the library parses it.
ManifestShard by_library(const std::string& line) { return parse_shard_line(" " + line); }

TEST_CASE("plain shard line: it is the JSON that the library writes") {
  ManifestShard shard;
  shard.name = "shard-000007";
  shard.payload_bytes = 50;
  shard.files = {{"shard-000007.a", 5, {1, 2}}, {"shard-000007.b", 0, {}}};
  shard.index = {"shard-000007.index.npy", 7, {0, 3}};
  shard.blocks = {"shard-000007.blocks.npy", 8, {0, 4}};
  shard.digest = {9, {0, 1}, {0, 2}, {}};
  const std::string zeros = "000000000000000";
  const auto hash = [&](const char* high, const char* low) {
    return zeros + high + zeros + low + "\"";
  };
  CHECK(shard_line(shard) ==
        R"({"name":"shard-000007","samples":9,"payload_bytes":50,"files":[)"
        R"({"name":"shard-000007.a","bytes":5,"xxh3_128":")" +
            hash("1", "2") + R"(},{"name":"shard-000007.b","bytes":0,"xxh3_128":null}],"index":)" +
            R"({"name":"shard-000007.index.npy","bytes":7,"xxh3_128":")" + hash("0", "3") +
            R"(},"blocks":{"name":"shard-000007.blocks.npy","bytes":8,"xxh3_128":")" +
            hash("0", "4") + R"(},"digest":{"content":")" + hash("0", "1") + R"(,"ordered":")" +
            hash("0", "2") + R"(,"keys":null}})");
}

TEST_CASE("plain shard line: it is read as the library reads it, and gives the same bytes") {
  RandomWords words(7);
  for (int i = 0; i < 3000; ++i) {
    const ManifestShard shard = random_shard(words);
    const std::string line = shard_line(shard);
    CAPTURE(line);
    const std::optional<ManifestShard> plain = parse_plain_shard_line(line);
    REQUIRE(plain);
    CHECK(is_equal(*plain, by_library(line)));
  }
}

TEST_CASE("plain shard line: a name that needs escapes is the library's") {
  for (const char* name : {"a\"b", "a\\b", "a\nb", "\xc3\xa9", "a\x7f", "a\xff"}) {
    CAPTURE(name);
    ManifestShard shard;
    shard.name = shard_name(0);
    shard.files = {{name, 5, {1, 2}}};
    const std::string line = shard_line(shard);
    CHECK_FALSE(parse_plain_shard_line(line));
    CHECK(is_equal(by_library(line), shard));
  }
}

TEST_CASE("plain shard line: whatever is changed in one, the library judges it or agrees") {
  RandomWords words(11);
  int judged = 0;
  const int lines = test::kIsInstrumented ? 4'000 : 20'000;
  for (int i = 0; i < lines; ++i) {
    std::string line = shard_line(random_shard(words));
    const std::uint64_t place = words.next() % line.size();
    const std::string_view bytes = "{}[]\",:0129af. -\\x";
    switch (words.next() % 3) {
      case 0:
        line[place] = bytes[words.next() % bytes.size()];
        break;
      case 1:
        line.erase(place, 1 + words.next() % 9);
        break;
      default:
        line.insert(place, 1, bytes[words.next() % bytes.size()]);
    }
    CAPTURE(line);
    const std::optional<ManifestShard> plain = parse_plain_shard_line(line);
    if (!plain) {
      ++judged;
      continue;
    }
    CHECK(is_equal(*plain, by_library(line)));
  }
  CHECK(judged > lines / 2);
}

TEST_CASE("plain shard line: a file of a set has a path, which leads out of no folder") {
  ManifestShard shard;
  shard.name = "part-1";
  shard.bases = {0};
  shard.state = FileFingerprint{{0, 1}, {0, 2}, {0, 3}};
  const auto parsed = [&](const char* path) {
    shard.files = {{path, 5, {}}};
    return parse_shard_line(shard_line(shard)).files[0].name;
  };
  for (const char* path : {"part-1", "a/part-1", ".hidden/data.mdb", "..a/b"})
    CHECK(parsed(path) == path);
  for (const char* path : {"../part-1", "a/../../b", "/etc/passwd", "a//b", ".", "a/", ""}) {
    CAPTURE(path);
    CHECK(test::error_of([&] { (void)parsed(path); }).code() == Code::damaged);
  }
  shard.state.reset();
  CHECK(test::error_of([&] { (void)parsed("a/part-1"); }).code() == Code::damaged);
}

}  // namespace
}  // namespace shale
