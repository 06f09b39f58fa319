#include <filesystem>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"

#include "tests/support/sample_sets.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::read_text;
using test::TempDir;
using test::write_file;

Manifest full_manifest() {
  Manifest manifest;
  manifest.generator = "shale test";
  manifest.format = "toy";
  manifest.options = {{"seed", "7"}, {"shard_size", "1000"}};
  manifest.schema.fields = {{"image", Kind::bytes, {}, {}},
                            {"depth", Kind::tensor, DType::parse("<f4"), {2, 0}}};
  manifest.layout.file_suffixes = {".head.toy", ".body.toy"};
  manifest.layout.part_file = {0, 1};
  manifest.layout.field_part = {1, 1};
  manifest.classes = {"cat", "\xff\x00 not UTF-8", "quote\"\\\n", ""};
  manifest.source = {"image folder", 5, 1234, {7, 8}};
  manifest.source.origin = "flat folder";
  manifest.skipped = 2;
  manifest.ignored = 3;
  manifest.images = ImageReport{{{"jpeg", 4}}, {{"cmyk", 1}}};
  manifest.files = {{"skipped.csv", 10, {1, 1}}};
  manifest.digest = {3, {1, 2}, {3, 4}, {5, 6}};
  manifest.payload_bytes = 99;
  manifest.shard_count = 2;
  return manifest;
}

// All samples of the source were bad.
Manifest empty_manifest() {
  Manifest manifest = full_manifest();
  manifest.skipped = manifest.source.samples;
  manifest.digest = {};
  manifest.shard_count = 0;
  return manifest;
}

ManifestShard shard_of(std::uint64_t number) {
  ManifestShard shard;
  shard.name = shard_name(number);
  shard.payload_bytes = 50;
  shard.files = {{shard.name + ".head.toy", 5, {number, 1}},
                 {shard.name + ".body.toy", 6, {number, 2}}};
  shard.index = {shard.name + ".index.npy", 7, {number, 3}};
  shard.blocks = {shard.name + ".blocks.npy", 8, {number, 4}};
  shard.digest = {number + 1, {1, number}, {2, number}, {3, number}};
  return shard;
}

void write(const std::string& directory, const Manifest& manifest) {
  std::filesystem::create_directories(directory);
  write_manifest(directory, manifest, [&](const auto& visit) {
    for (std::uint64_t i = 0; i < manifest.shard_count; ++i) visit(shard_of(i));
  });
}

// Changes the text of a manifest and gives it the hash that it then must have.
void rewrite(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = read_text(path);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const std::size_t digits = text.size() - 36;
  const std::string hashed = text.substr(0, digits) + text.substr(digits + 32);
  write_file(path,
             text.substr(0, digits) + xxh3_128(as_bytes(hashed)).hex() + text.substr(digits + 32));
}

std::string nested(std::size_t deep) { return std::string(deep, '[') + std::string(deep, ']'); }

std::string members(int count) {
  std::string object = "{\"0\":0";
  for (int i = 1; i < count; ++i) object += fmt::format(",\"{}\":0", i);
  return object + "}";
}

TEST_CASE("manifest: everything comes back, class names of any bytes too") {
  const TempDir dir;
  const Manifest written = full_manifest();
  write(dir.path(), written);
  std::vector<ManifestShard> shards;
  const Manifest read =
      read_manifest(dir.path(), [&](const ManifestShard& shard) { shards.push_back(shard); });

  CHECK(read.generator == written.generator);
  CHECK(read.format == written.format);
  CHECK(read.options == written.options);
  CHECK(read.schema == written.schema);
  CHECK(read.layout == written.layout);
  CHECK(read.classes == written.classes);
  CHECK(read.source.fingerprint == written.source.fingerprint);
  CHECK(read.source.origin == written.source.origin);
  CHECK(read.images->odd == written.images->odd);
  CHECK(read.files == written.files);
  CHECK(read.digest == written.digest);
  CHECK(read.skipped + read.ignored + read.payload_bytes == 2 + 3 + 99);
  REQUIRE(shards.size() == 2);
  CHECK(shard_line(shards[1]) == shard_line(shard_of(1)));
}

TEST_CASE(
    "manifest: a schema of every kind comes back, and older readers refuse what they misread") {
  const TempDir dir;
  Manifest written = full_manifest();
  written.schema = test::varied_schema();
  written.layout.field_part.assign(written.schema.fields.size(), 1);
  write(dir.path(), written);
  CHECK(read_manifest(dir.path()).schema == written.schema);
  const std::string text = read_text(dir / "dataset.json");
  CHECK(text.find("\"requires\": [\"ragged\",\"optional\"]") != std::string::npos);
  CHECK(text.find("\"shape\":[null,4]") != std::string::npos);
  for (const std::string shape :
       {"[-1,4]", "[18446744073709551615,4]", "[4611686018427387904,4]", "[0.5,4]", "4"}) {
    write(dir.path(), written);
    rewrite(dir / "dataset.json", "\"shape\":[null,4]", "\"shape\":" + shape);
    CHECK(error_of([&] { (void)read_manifest(dir.path()); }).code() == Code::damaged);
  }
}

TEST_CASE("manifest: of a part its number comes back, and older readers refuse it by name") {
  const TempDir dir;
  Manifest written = full_manifest();
  written.source.samples = 15;  // of the whole run: 5 of them are part 1 of 3
  written.part = PartNumber{1, 3};
  write(dir.path(), written);
  CHECK(read_manifest(dir.path()).part == written.part);
  CHECK(read_text(dir / "dataset.json").find("\"requires\": [\"part\"]") != std::string::npos);
  rewrite(dir / "dataset.json", "\"index\":1", "\"index\":3");
  CHECK(error_of([&] { (void)read_manifest(dir.path()); }).code() == Code::damaged);
  written.source.samples = 18;  // 6 would be in that part
  write(dir.path(), written);
  CHECK(error_of([&] { (void)read_manifest(dir.path()); }).code() == Code::damaged);
}

TEST_CASE("manifest: the same one has the same bytes, and one shard stands on one line") {
  const TempDir dir, other;
  write(dir.path(), full_manifest());
  write(other.path(), full_manifest());
  const std::string text = read_text(dir / "dataset.json");

  CHECK(text == read_text(other / "dataset.json"));
  CHECK(text.find("\n" + shard_line(shard_of(0)) + ",\n" + shard_line(shard_of(1)) + "\n]") !=
        std::string::npos);
}

TEST_CASE("manifest: without shards it is whole") {
  const TempDir dir;
  write(dir.path(), empty_manifest());
  CHECK(read_manifest(dir.path()).shard_count == 0);
}

TEST_CASE("manifest: a changed byte, digit of its hash or length is damage") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  const std::string sound = read_text(dir / "dataset.json");
  const auto code_of = [&](const std::string& text) {
    write_file(dir / "dataset.json", text);
    return error_of([&] { (void)read_manifest(dir.path()); }).code();
  };
  for (std::size_t i = 0; i < sound.size(); i += 13) {
    std::string changed = sound;
    changed[i] ^= 0x20;
    CHECK(code_of(changed) == Code::damaged);
    CHECK(code_of(sound.substr(0, i)) == Code::damaged);
  }
  CHECK(code_of(sound + "\n") == Code::damaged);
}

TEST_CASE("manifest: one that is not there is not found") {
  const TempDir dir;
  CHECK(error_of([&] { (void)read_manifest(dir.path()); }).code() == Code::not_found);
}

TEST_CASE("manifest: a newer version and an unknown requirement are refused by name") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  rewrite(dir / "dataset.json", "\"format_version\": 1", "\"format_version\": 2");
  const Error newer = error_of([&] { (void)read_manifest(dir.path()); });
  write(dir.path(), full_manifest());
  rewrite(dir / "dataset.json", "\"requires\": []", "\"requires\": [\"zstd\"]");
  const Error unknown = error_of([&] { (void)read_manifest(dir.path()); });

  CHECK(newer.code() == Code::unsupported);
  CHECK(newer.message().find("format_version is 2") != std::string::npos);
  CHECK(unknown.code() == Code::unsupported);
  CHECK(unknown.message().find("'zstd'") != std::string::npos);
}

TEST_CASE("manifest: hostile members under a sound hash are damage, never trusted") {
  struct Row {
    std::string from, to;
  };
  const Row rows[] = {
      {"\"samples\": 3", "\"samples\": -3"},
      {"\"samples\": 3", "\"samples\": \"3\""},
      {"\"shard_count\": 2", "\"shard_count\": 3"},
      {"skipped.csv", "../skipped.csv"},
      {"skipped.csv", ".skipped.csv"},
      {"shard-000000.head.toy", "/etc/passwd"},
      {"\"part_file\":[0,1]", "\"part_file\":[0,2]"},
      {"\"field_part\":[1,1]", "\"field_part\":[1]"},
      {"\"kind\":\"bytes\"", "\"kind\":\"blob\""},
      {"\"key_part\":0", "\"key_part\":2"},
      {"\"files\": [{", "\"files\": {{"},
      {"\"classes\": [", "\"classes\": 5, \"x\": ["},
      {"\"files\":[\".head.toy\"", "\"files\":[5"},
      {"\"jpeg\":4", "\"jpeg\":-4"},
      {"\"bytes\":\"ff", "\"bytes\":\"zz"},
      {"\"bytes\":\"ff", "\"bytes\":\"f"},
      {"\"requires\": []", "\"requires\": [" + nested(100'000) + "]"},
      {"\"seed\":\"7\"", "\"seed\":" + nested(100'000)},
      {"\"seed\":\"7\"", "\"seed\":7"},
      {"\"skipped\": 2", "\"skipped\": 2,\n\"later\": " + nested(17)},
      {"\"payload_bytes\":50", "\"payload_bytes\":50,\"later\":" + nested(100'000)},
      {"\"skipped\": 2", "\"skipped\": 2,\n\"later\": " + members(1025)},
      {"\"skipped\": 2", "\"skipped\": 1"},
      {"\"skipped\": 2", "\"skipped\": 18446744073709551614"},
      {"\"jpeg\":4", "\"jpeg\":4,\"png\":2"},
      {"\"jpeg\":4", "\"jpeg\":18446744073709551615,\"png\":2"},
      {"\"cmyk\":1", "\"cmyk\":6"},
      {"\"name\":\"image\",\"kind\":\"bytes\"", "\"name\":\"image\",\"kind\":\"text\""},
      {"\"name\":\"shard-000001\"", "\"name\":\"shard-000002\""},
      {"\"name\":\"shard-000001\"", "\"name\":\"shard-000001\\u001b[2J\""},
      {"shard-000001.head.toy", "shard-000000.head.toy"},
      {"shard-000001.index.npy", "dataset.json"},
      {"shard-000001.blocks.npy", "shard-000001.Blocks.npy"},
      {"\"files\":[{\"name\":\"shard-000001.head.toy\"",
       "\"x\":[],\"files\":[],\"y\":[{\"name\":\"z\""},
      {"\"index\":{", "\"index\":null,\"x\":{"},
      {"\"blocks\":{", "\"blocks\":null,\"x\":{"},
      {"\"name\":\"shard-000001.index.npy\",\"bytes\":7",
       "\"name\":\"shard-000001.index.npy\",\"bytes\":2"},
  };
  const TempDir dir;
  for (const Row& row : rows) {
    CAPTURE(row.to);
    write(dir.path(), full_manifest());
    rewrite(dir / "dataset.json", row.from, row.to);
    const Error error =
        error_of([&] { (void)read_manifest(dir.path(), [](const ManifestShard&) {}); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == dir / "dataset.json");
  }
}

TEST_CASE("manifest: a member that nests and that no reader knows is passed over") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  rewrite(dir / "dataset.json", "\"skipped\": 2", "\"skipped\": 2,\n\"later\": " + nested(15));
  rewrite(dir / "dataset.json", "\"payload_bytes\":50",
          "\"payload_bytes\":50,\"later\":" + nested(15));
  CHECK(read_manifest(dir.path(), [](const ManifestShard&) {}).skipped == 2);
}

TEST_CASE("manifest: a schema without fields is refused") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  rewrite(dir / "dataset.json", "\"schema\": [", "\"schema\": [],\n\"x\": [");
  CHECK(error_of([&] { (void)read_manifest(dir.path()); }).code() == Code::damaged);
}

TEST_CASE("manifest: what it says about itself holds nothing that a terminal obeys") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  for (const std::string_view text : {"shale test", "toy", "image folder", "seed", "jpeg", "cmyk"})
    rewrite(dir / "dataset.json", fmt::format("\"{}\"", text),
            fmt::format("\"{}\\u001b]0;\\u009b\\u202e\"", text));
  const Manifest manifest = read_manifest(dir.path());
  const std::string escaped = "\\x1b]0;\\xc2\\x9b\\xe2\\x80\\xae";

  CHECK(manifest.generator == "shale test" + escaped);
  CHECK(manifest.format == "toy" + escaped);
  CHECK(manifest.source.kind == "image folder" + escaped);
  CHECK(manifest.options[0].first == "seed" + escaped);
  CHECK(manifest.images->types.contains("jpeg" + escaped));
  CHECK(manifest.images->odd.contains("cmyk" + escaped));
}

TEST_CASE("manifest: memory is bounded, and --memory is what moves the bound") {
  constexpr std::uint64_t kLeast = 16 << 20, kMore = 1 << 30;
  const std::string spaces(40 << 20, ' ');
  std::string values = "[0";
  for (int i = 1; i < 500'000; ++i) values += ",0";
  const TempDir dir;
  for (const std::string& filler : {spaces + "0", values + "]"}) {
    write(dir.path(), full_manifest());
    rewrite(dir / "dataset.json", "\"skipped\": 2", "\"skipped\": 2,\n\"later\": " + filler);
    CHECK(error_of([&] { (void)read_manifest(dir.path(), {}, kLeast); }).code() == Code::limit);
    CHECK(read_manifest(dir.path(), {}, kMore).skipped == 2);
  }
}

TEST_CASE("shard list: gives each shard when it is asked for, and knows where a row lies") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  const ShardList shards = open_shard_list(dir.path());
  std::vector<std::string> names;
  for (const ManifestShard& shard : shards) names.push_back(shard.name);

  CHECK(names == std::vector<std::string>{"shard-000000", "shard-000001"});
  CHECK(shards.size() == 2);
  CHECK(shards.holding(0) == 0);
  CHECK(shards.holding(1) == 1);
  CHECK(shards.holding(2) == 1);
  CHECK(shards.samples(1) == 2);
  CHECK(ShardList().size() == 0);
}

TEST_CASE("shard line: comes back, and half a line is damage") {
  const std::string line = shard_line(shard_of(7));
  CHECK(shard_line(parse_shard_line(line)) == line);
  CHECK(line.find('\n') == std::string::npos);
  for (std::size_t length = 0; length < line.size(); length += 7) {
    CHECK(error_of([&] { (void)parse_shard_line(line.substr(0, length)); }).code() ==
          Code::damaged);
  }
}

TEST_CASE(
    "manifest outline: tells what the whole manifest tells, and finds the line of each shard") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  const InputFile file(dir / "dataset.json");
  std::vector<ManifestShard> shards;
  const Manifest whole =
      read_manifest(dir.path(), [&](const ManifestShard& shard) { shards.push_back(shard); });
  const ManifestOutline outline = read_manifest_outline(file);

  CHECK(outline.manifest.generator == whole.generator);
  CHECK(outline.manifest.classes == whole.classes);
  CHECK(outline.manifest.schema.fields.size() == whole.schema.fields.size());
  CHECK(outline.manifest.digest.samples == 3);
  REQUIRE(outline.shards.size() == shards.size());
  for (std::size_t i = 0; i < shards.size(); ++i)
    CHECK(shard_line(read_shard_line(file, outline, i)) == shard_line(shards[i]));
  CHECK(outline.shards[0].first_row == 0);
  CHECK(outline.shards[1].first_row == 1);
  CHECK(outline.shards[1].samples == 2);
}

TEST_CASE("manifest outline: a set without shards has none") {
  const TempDir dir;
  write(dir.path(), empty_manifest());

  CHECK(read_manifest_outline(InputFile(dir / "dataset.json")).shards.empty());
}

TEST_CASE("manifest outline: what the hash proves and the text denies is damaged, with its place") {
  struct Row {
    std::string_view claim, from, to;
  };
  constexpr Row kRows[] = {
      {"more samples than the shards have", "\"samples\": 3", "\"samples\": 4"},
      {"more shards than there are", "\"shard_count\": 2", "\"shard_count\": 3"},
      {"a shard of no number of samples", "\"name\":\"shard-000001\",\"samples\":2",
       "\"name\":\"shard-000001\",\"samples\":x"},
      {"a shard without samples", "\"name\":\"shard-000001\",\"samples\":2",
       "\"name\":\"shard-000001\",\"sample\":2"},
      {"a sum that overflows", "\"name\":\"shard-000000\",\"samples\":1",
       "\"name\":\"shard-000000\",\"samples\":18446744073709551615"},
      {"a head that is no JSON", "\"skipped\": 2", "\"skipped\" 2"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.claim);
    const TempDir dir;
    write(dir.path(), full_manifest());
    rewrite(dir / "dataset.json", std::string(row.from), std::string(row.to));
    const Error error =
        error_of([&] { (void)read_manifest_outline(InputFile(dir / "dataset.json")); });

    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == dir / "dataset.json");
  }
}

TEST_CASE("manifest outline: a wrong byte anywhere, or a cut, is damaged before it is parsed") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  const std::string path = dir / "dataset.json", text = read_text(path);
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string wrong = text;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    write_file(path, wrong);
    CHECK(error_of([&] { (void)read_manifest_outline(InputFile(path)); }).code() == Code::damaged);
    write_file(path, text.substr(0, at));
    CHECK(error_of([&] { (void)read_manifest_outline(InputFile(path)); }).code() == Code::damaged);
  }
}

TEST_CASE("manifest outline: a line that changed since is refused, though it is a shard's") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  const ManifestOutline outline = read_manifest_outline(InputFile(dir / "dataset.json"));
  rewrite(dir / "dataset.json", "\"name\":\"shard-000001\",\"samples\":2",
          "\"name\":\"shard-000001\",\"samples\":3");
  const InputFile changed(dir / "dataset.json");

  CHECK(error_of([&] { (void)read_shard_line(changed, outline, 1); }).code() == Code::damaged);
  CHECK(read_shard_line(changed, outline, 0).digest.samples == 1);
}

TEST_CASE("manifest: the hash that it ends with tells one set from another without proving it") {
  const TempDir dir;
  write(dir.path(), full_manifest());
  const std::string path = dir / "dataset.json", text = read_text(path);

  CHECK(self_hash_of(InputFile(path)) == text.substr(text.size() - 36, 32));
  write_file(path, "{}");
  CHECK(error_of([&] { (void)self_hash_of(InputFile(path)); }).code() == Code::damaged);
}

// A set of columns: no index, no keys, dtypes of numbers.
Manifest manifest_of_rows() {
  Manifest manifest = full_manifest();
  manifest.schema = {.fields = {{"flag", Kind::integer, DType::parse("|b1"), {}},
                                {"label", Kind::integer, {}, {}},
                                {"weight", Kind::real, DType::parse("<f4"), {}},
                                {"depth", Kind::tensor, DType::parse("<f4"), {2, 0}}},
                     .has_keys = false};
  manifest.layout = {};
  manifest.layout.file_suffixes = {".a", ".b"};
  manifest.layout.part_file = {0, 1, 0, 1};
  manifest.layout.field_part = {0, 1, 2, 3};
  manifest.layout.has_keys = false;
  manifest.layout.rows = RowStorage::columns();
  manifest.source.samples = 3;
  manifest.skipped = 0;
  manifest.images = {};
  manifest.digest.keys = {};
  manifest.shard_count = 1;
  return manifest;
}

ManifestShard shard_of_rows() {
  ManifestShard shard = shard_of(0);
  shard.files = {{shard.name + ".a", 5000, {1, 1}}, {shard.name + ".b", 88, {1, 2}}};
  shard.index = {};
  shard.digest.samples = 3;
  shard.bases = {128, 64, 4000, 0};
  shard.digest.keys = {};
  return shard;
}

void write_rows(const std::string& directory) {
  std::filesystem::create_directories(directory);
  write_manifest(directory, manifest_of_rows(), [](const auto& visit) { visit(shard_of_rows()); });
}

TEST_CASE("manifest: it is known by its beginning or its end, not by its name") {
  const TempDir dir;
  write(dir / "out", full_manifest());
  const std::string path = dir / "out/dataset.json", whole = read_text(path);
  const auto is_one = [&](const std::string& text) {
    write_file(path, text);
    return is_manifest(path);
  };
  CHECK(is_one(whole));
  CHECK(is_one(whole.substr(0, 100)));
  CHECK(is_one("#" + whole.substr(1)));
  CHECK(is_one(""));
  CHECK(is_one(std::string(4096, '\0')));
  CHECK(!is_one(R"({"labels": [["00000/img00000000.png", 6]]})"));
  CHECK(!is_one("{}"));
  CHECK(!is_one("\"hash\": \"\n}\n"));
  CHECK(!is_manifest(dir / "out"));
  CHECK(!is_manifest(dir / "none"));
}

TEST_CASE("manifest: fixed rows, their bases and the dtypes of their numbers come back") {
  const TempDir dir;
  write_rows(dir.path());
  std::vector<ManifestShard> shards;
  const Manifest found =
      read_manifest(dir.path(), [&](const ManifestShard& shard) { shards.push_back(shard); });

  CHECK(found.layout == manifest_of_rows().layout);
  CHECK(found.schema == manifest_of_rows().schema);
  CHECK(found.digest == manifest_of_rows().digest);
  REQUIRE(shards.size() == 1);
  CHECK(shards[0].bases == shard_of_rows().bases);
  CHECK(shards[0].index.name.empty());
  const std::string text = read_text(dir / "dataset.json");
  for (const std::string_view words :
       {"\"requires\": [\"fixed_rows\"]", "\"strides\":[1,8,4,0]", "\"index\":null",
        "\"bases\":[128,64,4000,0]", "\"dtype\":\"|b1\"", "\"keys\":null"})
    CHECK(text.find(words) != std::string::npos);
}

TEST_CASE("manifest: keys that are stored and no more than numbers are said to be so") {
  const TempDir dir;
  Manifest manifest = full_manifest();
  manifest.schema.has_keys = false;
  write(dir.path(), manifest);
  CHECK(!read_manifest(dir.path()).schema.has_keys);
  CHECK(read_manifest(dir.path()).layout.has_keys);
  CHECK(read_text(dir / "dataset.json").find("\n\"keys\": \"numbers\",\n") != std::string::npos);
}

TEST_CASE("manifest: rows that do not follow from the schema are damage under a sound hash") {
  struct Row {
    std::string_view claim, from, to;
  };
  constexpr Row kRows[] = {
      {"a stride of the wrong dtype", "\"strides\":[1,8,4,0]", "\"strides\":[1,8,8,0]"},
      {"a stride too few", "\"strides\":[1,8,4,0]", "\"strides\":[1,8,4]"},
      {"a stride that is no number", "\"strides\":[1,8,4,0]", "\"strides\":[1,8,4,-1]"},
      {"strides that are no list", "\"strides\":[1,8,4,0]", "\"strides\":1"},
      {"keys that fixed rows cannot have", "\"has_keys\":false", "\"has_keys\":true"},
      {"samples in one piece", "\"has_whole_records\":false", "\"has_whole_records\":true"},
      {"a field of no fixed size", "\"kind\":\"real\",\"dtype\":\"<f4\"", "\"kind\":\"text\""},
      {"a base that is negative", "\"bases\":[128,", "\"bases\":[-128,"},
      {"bases that are no list", "\"bases\":[128,64,4000,0]", "\"bases\":128"},
      {"rows behind the end", "\"name\":\"shard-000000.b\",\"bytes\":88",
       "\"name\":\"shard-000000.b\",\"bytes\":87"},
      {"a base behind the end", "\"bases\":[128,64,", "\"bases\":[128,18446744073709551615,"},
      {"a base too few", "\"bases\":[128,64,4000,0]", "\"bases\":[128,64,4000]"},
      {"an index", "\"index\":null", "\"index\":{\"name\":\"a\",\"bytes\":99,\"xxh3_128\":null}"},
      {"an integer of a dtype for reals", "\"dtype\":\"|b1\"", "\"dtype\":\"<f4\""},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.claim);
    const TempDir dir;
    write_rows(dir.path());
    rewrite(dir / "dataset.json", std::string(row.from), std::string(row.to));
    const auto look = [](const ManifestShard&) {};
    const Error error = error_of([&] { (void)read_manifest(dir.path(), look); });
    CHECK((error.code() == Code::damaged || error.code() == Code::schema));
    CHECK(error.file() == dir / "dataset.json");
  }
}

TEST_CASE("manifest: a requirement beside fixed rows that is unknown is refused by name") {
  const TempDir dir;
  write_rows(dir.path());
  rewrite(dir / "dataset.json", "[\"fixed_rows\"]", "[\"fixed_rows\",\"wings\"]");
  const Error error = error_of([&] { (void)read_manifest(dir.path()); });
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message().find("'wings'") != std::string::npos);
}

}  // namespace
}  // namespace shale
