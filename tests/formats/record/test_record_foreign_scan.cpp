#include <filesystem>
#include <fstream>
#include <random>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"

#include "tests/formats/record/foreign_record_tools.hpp"

namespace shale {
namespace {

using namespace test;

// Three small records of every kind of field; the last lacks what it may.
std::string tiny_file() {
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    const std::string common = bytes_feature("key", {"k" + std::to_string(i)}) +
                               integers_feature("n", {i - 1}) + floats_feature("r", {0.5F});
    const std::string rest = bytes_feature("image/encoded", {"\xff\xd8"}) +
                             bytes_feature("names", {"a", "", "c"}) + floats_feature("box", {1, 2});
    bytes += i == 2 ? example({common}) : example({rest, common});
  }
  return bytes;
}

bool is_inside(const FieldPlace& place, std::uint64_t size) {
  return place.offset == kMissing || (place.offset <= size && place.length <= size - place.offset);
}

void check_inside(const ReadForeign& read, std::uint64_t size) {
  for (const IndexRow& row : read.rows) {
    CHECK(is_inside(row.key, size));
    for (const IndexCell& cell : row.cells) CHECK(is_inside(cell.place, size));
  }
}

TEST_CASE("record foreign scan: rows say where each value lies, with its checksum") {
  const std::string bytes = tiny_file();
  const ReadForeign read = read_foreign_bytes(bytes);
  CHECK(fields_of(read.survey) ==
        "box:tensor(2)? image_encoded:bytes? n:integer names:list? r:real");
  CHECK(read.findings.empty());
  REQUIRE(read.rows.size() == 3);
  const auto at = [&](const FieldPlace& place) {
    const std::string value = bytes.substr(place.offset, place.length);
    CHECK(crc32c(as_bytes(value)) == place.crc32c);
    return value;
  };
  const IndexRow& row = read.rows[1];
  CHECK(at(row.key) == "k1");
  CHECK(row.key_hash == xxh3_64(as_bytes("k1")));
  CHECK(at(row.cells[0].place) == packed_floats({1, 2}));
  CHECK(at(row.cells[1].place) == "\xff\xd8");
  CHECK(row.cells[2].integer == 0);
  const std::string list = at(row.cells[3].place);
  const std::vector<Bytes> names =
      record_format.split_list(as_bytes(list), row.cells[3].place.count);
  REQUIRE(names.size() == 3);
  CHECK(as_text(names[2]) == "c");
  CHECK(row.cells[4].real == 0.5);
  CHECK(row.record_offset == read.rows[0].record_length);
}

TEST_CASE("record foreign scan: without payload the rows are the same but for the checksums") {
  ReadForeign with = read_foreign_bytes(tiny_file());
  for (IndexRow& row : with.rows) {
    row.key.crc32c = 0;
    for (IndexCell& cell : row.cells) cell.place.crc32c = 0;
  }
  CHECK(read_foreign_bytes(tiny_file(), false).rows == with.rows);
}

TEST_CASE("record foreign scan: what a record lacks is missing in its row") {
  const ReadForeign read = read_foreign_bytes(tiny_file());
  for (const std::size_t located : {0U, 1U, 3U}) {
    CHECK(read.rows[2].cells[located].place == FieldPlace{});
  }
  CHECK(read.rows[2].cells[2].integer == 1);
}

TEST_CASE(
    "record foreign scan: a ragged list says how long it is, and a number that it is absent") {
  const std::string id = bytes_feature("z", {"1"});
  const std::string bytes =
      example({id, floats_feature("f", {1, 2, 3}), integers_feature("n", {7})}) +
      example({floats_feature("f", {}), integers_feature("n", {}), id}) + example({id});
  const ReadForeign read = read_foreign_bytes(bytes);
  CHECK(fields_of(read.survey) == "f:tensor(?)? n:integer? z:text");
  CHECK(read.findings.empty());
  REQUIRE(read.rows.size() == 3);
  const FieldPlace& floats = read.rows[0].cells[0].place;
  CHECK(bytes.substr(floats.offset, floats.length) == packed_floats({1, 2, 3}));
  CHECK(read.rows[0].sides == std::vector<std::uint64_t>{3});
  CHECK(read.rows[1].sides == std::vector<std::uint64_t>{0});
  CHECK(read.rows[1].cells[0].place.length == 0);
  CHECK(read.rows[1].cells[0].place.offset < bytes.size());
  CHECK(read.rows[2].cells[0].place.offset == kMissing);
  CHECK(!read.rows[0].cells[1].lacks_number);
  for (const std::size_t lacking : {1U, 2U}) CHECK(read.rows[lacking].cells[1].lacks_number);
}

TEST_CASE("record foreign scan: of features of one name the last counts, also if it has no value") {
  const std::string id = bytes_feature("z", {"1"});
  const ReadForeign read = read_foreign_bytes(
      example(
          {id, integers_feature("n", {1}), floats_feature("n", {1}), integers_feature("n", {7})}) +
      example({bytes_feature("b", {"x"}), id, integers_feature("n", {8}), feature("b", "")}));
  CHECK(fields_of(read.survey) == "n:integer z:text");
  CHECK(read.rows[0].cells[0].integer == 7);
  CHECK(read.findings.empty());
}

TEST_CASE(
    "record foreign scan: of two keys the last counts, and a '__key__' beside them is a field") {
  const std::string other = bytes_feature("__key__", {"other"});
  const ReadForeign read = read_foreign_bytes(
      example({bytes_feature("key", {"a"}), other, bytes_feature("key", {"b"}), other}));
  CHECK(fields_of(read.survey) == "__key__:text");
  CHECK(read.rows[0].key_hash == xxh3_64(as_bytes("b")));
}

TEST_CASE("record foreign scan: unknown fields of protobuf and unpacked numbers are read over") {
  const std::string entry =
      message(9, "unknown") + message(1, "n") + message(2, message(3, "\x08\x05")) + "\x50\x01";
  const std::string payload = message(7, "unknown") + message(1, message(1, entry)) + "\x48\x01" +
                              message(1, feature("f", message(2, "\x0d" + packed_floats({2.5}))));
  const ReadForeign read = read_foreign_bytes(framed(payload));
  CHECK(fields_of(read.survey) == "f:real n:integer");
  CHECK(read.findings.empty());
  CHECK(read.rows[0].cells[0].real == 2.5);
  CHECK(read.rows[0].cells[1].integer == 5);
}

TEST_CASE("record foreign scan: a file that is not as its index has it is found out, by field") {
  const TempDir dir;
  write_file(dir / "a", tiny_file());
  const Survey survey = read_foreign(dir / "a").survey;
  write_file(dir / "b", example({bytes_feature("names", {"a"}), bytes_feature("n", {"1"}),
                                 floats_feature("r", {1, 2}), floats_feature("box", {1}),
                                 bytes_feature("image/encoded", {"a", "b"})}));
  std::vector<InputFile> files;
  files.emplace_back(dir / "b");
  std::vector<std::string> found;
  record_format.scan(
      {files, survey.schema, survey.layout, false}, {}, [](const IndexRow&) {},
      [&](const Finding& finding) { found.push_back(describe(finding)); });
  REQUIRE(found.size() == 5);
  CHECK(found[0].find("record has no key, but those before it do") != std::string::npos);
  CHECK(found[1].find("found FloatList of 1, expected packed FloatList of 2") != std::string::npos);
  CHECK(found[2].find("found BytesList of 2, expected BytesList of 1") != std::string::npos);
  CHECK(found[3].find("found BytesList of 1, expected Int64List of 1") != std::string::npos);
  CHECK(found[4].find("found FloatList of 2, expected FloatList of 1") != std::string::npos);
}

TEST_CASE("record foreign scan: values larger than a window are located, and proved") {
  const std::string large(700'000, '\xfe');
  const std::string bytes = example({bytes_feature("a", {large}), integers_feature("n", {3})}) +
                            example({integers_feature("n", {4}), bytes_feature("a", {large})});
  const ReadForeign read = read_foreign_bytes(bytes);
  CHECK(read.findings.empty());
  for (const IndexRow& row : read.rows) {
    CHECK(row.cells[0].place.length == large.size());
    CHECK(row.cells[0].place.crc32c == crc32c(as_bytes(large)));
  }
}

TEST_CASE("record foreign scan: a file cut at any length is found, except between frames") {
  const TempDir dir;
  const std::string sound = tiny_file(), path = dir / "a";
  std::vector<std::size_t> frames = {0};
  write_file(path, sound);
  for (const IndexRow& row : read_foreign(path).rows)
    frames.push_back(frames.back() + row.record_length);
  for (std::size_t length = sound.size(); length-- > 0;) {
    CAPTURE(length);
    std::filesystem::resize_file(path, length);
    const auto whole = std::upper_bound(frames.begin(), frames.end(), length) - frames.begin() - 1;
    const bool is_between = frames[static_cast<std::size_t>(whole)] == length;
    const ReadForeign read = read_foreign(path, length % 2 == 0);
    CHECK(read.rows.size() == static_cast<std::size_t>(whole));
    CHECK(read.findings.size() == (is_between ? 0 : 1));
    check_inside(read, length);
  }
}

TEST_CASE("record foreign scan: every single flipped bit of a tiny file is found") {
  const TempDir dir;
  const std::string sound = tiny_file(), path = dir / "a";
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    write_file(path, bytes);
    try {
      const ReadForeign read = read_foreign(path);
      if (read.findings.empty()) FAIL_CHECK("bit ", bit, " was flipped unseen");
      check_inside(read, bytes.size());
    } catch (const Error& error) {
      CHECK((error.code() == Code::unsupported || error.code() == Code::schema ||
             error.code() == Code::damaged));
    }
  }
}

TEST_CASE("record foreign scan: hostile records under sound checksums never escape the file") {
  constexpr unsigned kSeed = 20261121;
  constexpr int kRounds = 3000;
  CAPTURE(kSeed);
  std::mt19937 random(kSeed);
  const std::string sound = tiny_file();
  const std::uint64_t first =
      read_frame_header(as_bytes(sound).first<kFrameHeaderBytes>()).payload_bytes;
  const std::string payload = sound.substr(kFrameHeaderBytes, first);
  const TempDir dir;
  int read_as_examples = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string changed = payload;
    for (unsigned change = random() % 4; change > 0; --change)
      changed[random() % changed.size()] = static_cast<char>(random());
    changed.resize(changed.size() - random() % 2);
    const std::string bytes = sound + framed(changed);
    write_file(dir / "a", bytes);
    try {
      const ReadForeign read = read_foreign(dir / "a", round % 2 == 0);
      CHECK(read.rows.size() == 4);
      CHECK(read.findings.empty());  // what the survey took, the scan reads
      check_inside(read, bytes.size());
      read_as_examples += read.survey.layout.has_whole_records ? 1 : 0;
    } catch (const Error& error) {
      CHECK((error.code() == Code::unsupported || error.code() == Code::schema));
    }
  }
  CHECK(read_as_examples > kRounds / 20);
}

}  // namespace
}  // namespace shale
