#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/wire/msgpack_cursor.hpp"

#include "tests/formats/lmdb/lmdb_scan_tools.hpp"

// Files in the layouts of other programs, byte by byte.

namespace shale {
namespace {

using test::LmdbFile;
using Entries = std::vector<std::pair<std::string, std::string>>;

std::string be32(std::size_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes += static_cast<char>(static_cast<unsigned char>(number >> shift));
  return bytes;
}
std::string bin(const std::string& contents) { return "\xc6" + be32(contents.size()) + contents; }
std::string str(const std::string& contents) { return "\xdb" + be32(contents.size()) + contents; }
std::string list_of(const std::vector<std::string>& values) {
  std::string list = "\xdd" + be32(values.size());
  for (const std::string& value : values) list += value;
  return list;
}

// Two videos of class a and one of b, in CoCLR's order.
Entries videos_of(std::string (*run)(const std::string&)) {
  return {{"000000000", list_of({run("frame 0"), run(std::string(5000, 'x'))})},
          {"000000001", list_of({run("one")})},
          {"000000002", list_of({})},
          {"__keys__", list_of({run("000000001"), run("000000002"), run("000000000")})},
          {"__len__", "\x03"},
          {"__order__", list_of({run("b/z"), run("a/x"), run("a/y")})},
          {"__vlen__", list_of({"\x01", std::string(1, '\0'), "\x02"})}};
}

Entries lyken_of(std::size_t samples) {
  Entries entries;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::string key = std::to_string(i);
    entries.emplace_back(
        key, "\x92\x81" + bin("data") + bin("image " + key) + std::string(1, static_cast<char>(i)));
    keys.push_back(bin(key));
  }
  entries.emplace_back("__keys__", list_of(keys));
  return entries;
}

std::string datum(int height, const std::string& pixels, char label) {
  return std::string("\x08\x03\x10") + static_cast<char>(height) + "\x18\x01\x22" +
         static_cast<char>(pixels.size()) + pixels + "\x28" + label;
}

Survey survey_of(const std::string& path, std::optional<Dialect> dialect = std::nullopt) {
  return survey_lmdb_file(InputFile(path), dialect);
}

std::string stored(const std::string& path, const FieldPlace& place) {
  std::vector<std::byte> bytes(place.length);
  InputFile(path).read_exact(place.offset, bytes);
  return std::string(as_text(bytes));
}

// Each sample: its key, what its first field has, and its label.
std::vector<std::string> samples_of(const std::string& path, const Survey& survey) {
  const test::LmdbScanned scanned = test::scan_lmdb(path, survey.schema, survey.layout, true);
  CAPTURE(scanned.first_finding());
  CHECK(scanned.findings.empty());
  std::vector<std::string> samples;
  for (const IndexRow& row : scanned.rows) {
    samples.push_back(stored(path, row.key) + " " + stored(path, row.cells[0].place) + " " +
                      std::to_string(row.cells[1].integer));
  }
  return samples;
}

std::string refusal(const std::string& path, Dialect dialect) {
  try {
    (void)survey_of(path, dialect);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void overwrite(const std::string& path, const std::string& key, const std::string& value) {
  LmdbFile(path).change([&](MDB_txn* txn, MDB_dbi dbi) { LmdbFile::put(txn, dbi, key, value); });
}

}  // namespace

TEST_CASE("lmdb layouts: videos of CoCLR are recognized, with str or bin, and have their classes") {
  for (const auto run : {bin, str}) {
    const test::TempDir dir;
    const std::string path = dir / "a.lmdb";
    LmdbFile(path).put_all(videos_of(run));

    const Survey survey = survey_of(path);

    CHECK(survey.layout.dialect == Dialect::coclr);
    CHECK(survey.classes == std::vector<std::string>{"a", "b"});
    CHECK(survey.notes.empty());
    const std::vector<std::string> samples = samples_of(path, survey);
    REQUIRE(samples.size() == 3);
    CHECK(samples[0].starts_with("b/z " + list_of({run("frame 0")}).substr(0, 1)));
    CHECK(samples[1] == "a/x " + list_of({run("one")}) + " 0");
    CHECK(samples[2] == "a/y " + list_of({}) + " 0");
    CHECK(samples[0].ends_with(" 1"));
  }
}

TEST_CASE("lmdb layouts: samples come in the order of the list, not of the keys") {
  const test::TempDir dir;
  LmdbFile(dir / "a.lmdb").put_all(lyken_of(120));

  const Survey survey = survey_of(dir / "a.lmdb");

  CHECK(survey.layout.dialect == Dialect::lyken_old);
  const std::vector<std::string> samples = samples_of(dir / "a.lmdb", survey);
  REQUIRE(samples.size() == 120);
  CHECK(samples[2] == "2 image 2 2");
  CHECK(samples[119] == "119 image 119 119");
}

TEST_CASE("lmdb layouts: pixels of a Datum are a tensor, compressed images are bytes") {
  const test::TempDir dir;
  LmdbFile(dir / "raw.lmdb").put_all({{"a", datum(2, "123456", 4)}, {"b", datum(2, "abcdef", 5)}});
  LmdbFile(dir / "encoded.lmdb").put_all({{"a", "\x22\x03jpg\x28\x07\x38\x01"}});

  const Survey raw = survey_of(dir / "raw.lmdb"), encoded = survey_of(dir / "encoded.lmdb");

  CHECK(raw.layout.dialect == Dialect::caffe);
  CHECK(raw.schema.fields[0].shape == std::vector<std::uint64_t>{3, 2, 1});
  CHECK(samples_of(dir / "raw.lmdb", raw) == std::vector<std::string>{"a 123456 4", "b abcdef 5"});
  CHECK(encoded.schema.fields[0].kind == Kind::bytes);
  CHECK(samples_of(dir / "encoded.lmdb", encoded) == std::vector<std::string>{"a jpg 7"});
}

// [uint8 array, label], as msgpack_numpy has them.
std::string packed(const std::string& image, char label) {
  const std::string array = "\x85" + bin("nd") + "\xc3" + bin("type") + str("|u1") + bin("kind") +
                            bin("") + bin("shape") + list_of({"\xce" + be32(image.size())}) +
                            bin("data") + bin(image);
  return list_of({array, std::string(1, label)});
}

Entries packed_of(std::size_t samples) {
  Entries entries;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < samples; ++i) {
    keys.push_back(bin("0000000" + std::to_string(i)));
    entries.emplace_back("0000000" + std::to_string(i),
                         packed("image " + std::to_string(i), static_cast<char>(i)));
  }
  entries.emplace_back("__keys__", list_of(keys));
  return entries;
}

TEST_CASE(
    "lmdb layouts: tensorpack's values may be msgpack, with arrays as msgpack_numpy has them") {
  const test::TempDir dir;
  LmdbFile(dir / "a.lmdb").put_all(packed_of(9));

  const Survey survey = survey_of(dir / "a.lmdb");

  CHECK(survey.layout.dialect == Dialect::tensorpack);
  CHECK(survey.notes.empty());
  const std::vector<std::string> samples = samples_of(dir / "a.lmdb", survey);
  REQUIRE(samples.size() == 9);
  CHECK(samples[8] == "00000008 image 8 8");
}

TEST_CASE("lmdb layouts: of tensorpack's values the one that differs is in the note") {
  const test::TempDir dir;
  LmdbFile(dir / "a.lmdb").put_all(packed_of(9));
  overwrite(dir / "a.lmdb", "00000005", list_of({"\xc0", "\x01"}));

  const Survey survey = survey_of(dir / "a.lmdb");

  CHECK(survey.layout.dialect == Dialect::plain);
  REQUIRE(survey.notes.size() == 2);  // the second one: what convert makes of them
  CHECK(survey.notes[0] ==
        "read as plain entries; sample '00000005': not of layout tensorpack: "
        "the value has nil, expected bytes, a string, a number or an array");
}

TEST_CASE("lmdb layouts: values that are all images, and nothing else, are LSUN's") {
  const std::string jpeg = "\xff\xd8\xff\xe0 jpeg", png = "\x89PNG\r\n\x1a\n png",
                    webp = "RIFF\x10___WEBP webp";
  const test::TempDir dir;
  LmdbFile(dir / "a.lmdb").put_all({{"a", jpeg}, {"b", png + std::string(5000, 'x')}, {"c", webp}});

  const Survey survey = survey_of(dir / "a.lmdb");

  CHECK(survey.layout.dialect == Dialect::lsun);
  REQUIRE(survey.schema.fields.size() == 1);
  CHECK(survey.schema.fields[0].name == "image");
  const test::LmdbScanned scanned =
      test::scan_lmdb(dir / "a.lmdb", survey.schema, survey.layout, true);
  CHECK(scanned.findings.empty());
  REQUIRE(scanned.rows.size() == 3);
  CHECK(stored(dir / "a.lmdb", scanned.rows[0].cells[0].place) == jpeg);
  CHECK(stored(dir / "a.lmdb", scanned.rows[2].cells[0].place) == webp);
}

TEST_CASE("lmdb layouts: one value that is not an image, and the file is plain, with a note") {
  for (const std::string value : {"", "\xff\xd8", "RIFF", "RIFF\x10___WAVE", "GIF89a", "text"}) {
    const test::TempDir dir;
    LmdbFile(dir / "a.lmdb").put_all({{"a", "\xff\xd8\xff\xe0 jpeg"}, {"b", value}});
    CAPTURE(value);
    CHECK(survey_of(dir / "a.lmdb").layout.dialect == Dialect::plain);
    const Survey survey = survey_of(dir / "a.lmdb");
    REQUIRE(survey.notes.size() == 2);  // the second one: the kinds of the values
    CHECK(survey.notes[0].find("sample 'b': not of layout lsun") != std::string::npos);
    CHECK(
        refusal(dir / "a.lmdb", Dialect::lsun)
            .find("not of layout lsun: the value does not begin like a JPEG, PNG or WebP image") !=
        std::string::npos);
  }
}

TEST_CASE("lmdb layouts: one value of another shape and the file is plain, with a note") {
  const test::TempDir dir;
  const std::string path = dir / "a.lmdb";
  LmdbFile(path).put_all(lyken_of(20));
  overwrite(path, "7", "\x92\x81" + bin("date") + bin("image") + "\x01");

  const Survey survey = survey_of(path);

  CHECK(survey.layout.dialect == Dialect::plain);
  REQUIRE(survey.notes.size() == 2);  // the second one: what convert makes of them
  CHECK(survey.notes[0] ==
        "read as plain entries; sample '7': "
        "not of layout lyken-old: the value has a map, expected a map of 'data'");
  CHECK(refusal(path, Dialect::lyken_old).find("sample '7'") != std::string::npos);
}

TEST_CASE("lmdb layouts: what describes a file must agree with it") {
  const std::string two = list_of({bin("000000001"), bin("000000002")}),
                    flat = list_of({bin("a"), bin("b/x"), bin("c/y")}),
                    letters = list_of({bin("00000000a"), bin("000000001"), bin("000000002")});
  const std::pair<std::string, std::pair<std::string, std::string>> rows[] = {
      {"__len__", {"\x04", "'__len__' is 4, but '__keys__' lists 3"}},
      {"__len__", {"\xc0", "'__len__' is not a number"}},
      {"__keys__", {two, "lists 2 keys, and 4 entries describe the file, but it has 7"}},
      {"__keys__", {letters, "lists '00000000a', which has not 9 digits"}},
      {"__keys__", {"\x93", "claims 3 bytes or more, but only 0 are left"}},
      {"__order__", {flat, "lists 'a', expected Class/video"}},
      {"__order__", {two, "expected Class/video"}},
      {"__vlen__", {two, "lists more than numbers of frames"}},
      {"__vlen__", {std::string("\x91\x01", 2), "lists 1, but '__keys__' 3"}},
      {"000000001", {"\x91\x01", "the value has an integer, expected bytes"}},
      {"000000001", {"\x01", "the value has an integer, expected an array"}},
      {"000000001", {list_of({bin("x")}) + "y", "1 bytes are left over"}},
      {"extra", {"x", "but it has 8 entries"}}};
  for (const auto& row : rows) {
    const auto& key = row.first;
    const auto& change = row.second;
    CAPTURE(key);
    const test::TempDir dir;
    LmdbFile(dir / "a.lmdb").put_all(videos_of(bin));
    overwrite(dir / "a.lmdb", key, change.first);
    CAPTURE(refusal(dir / "a.lmdb", Dialect::coclr));
    CHECK(refusal(dir / "a.lmdb", Dialect::coclr).find(change.second) != std::string::npos);
    CHECK(survey_of(dir / "a.lmdb").layout.dialect == Dialect::plain);
  }
}

TEST_CASE("lmdb layouts: a Datum of another kind is refused by name") {
  const std::pair<std::string, std::string> rows[] = {
      {datum(2, "12345", 1), "3 x 2 x 1 has 5 bytes of pixels"},
      {"\x22\x01x", "has pixels, but not their shape"},
      {"\x28\x01", "has no data"},
      {"\x22\x01x\x22\x01y\x38\x01", "has a field twice"},
      {"\x35"
       "abcd\x22\x01x",
       "has float_data"},
      {"\x4a\x01x", "a Datum has no field 9"},
      {"\x20\x01", "has a field of another type"},
      {"\x22\x09x", "protobuf field of 9 bytes, 1 left"}};
  for (const auto& [value, said] : rows) {
    const test::TempDir dir;
    LmdbFile(dir / "a.lmdb").put_all({{"a", datum(2, "123456", 4)}, {"b", value}});
    CAPTURE(refusal(dir / "a.lmdb", Dialect::caffe));
    CHECK(refusal(dir / "a.lmdb", Dialect::caffe).find(said) != std::string::npos);
    CHECK(survey_of(dir / "a.lmdb").layout.dialect == Dialect::plain);
  }
}

TEST_CASE("lmdb layouts: a sample that is lost after the survey is a finding, and keeps its row") {
  const test::TempDir dir;
  const std::string path = dir / "a.lmdb";
  LmdbFile(path).put_all(lyken_of(12));
  const Survey survey = survey_of(path);
  LmdbFile(path).change([](MDB_txn* txn, MDB_dbi dbi) {
    LmdbFile::remove(txn, dbi, "3");
    LmdbFile::put(txn, dbi, "new", "x");
  });

  const test::LmdbScanned scanned = test::scan_lmdb(path, survey.schema, survey.layout, false);

  CHECK(scanned.rows.size() == 12);
  REQUIRE(scanned.findings.size() == 1);
  CHECK(scanned.findings[0].row == 3);
  CHECK(scanned.rows[3].cells[0].place.offset == kMissing);
}

}  // namespace shale
