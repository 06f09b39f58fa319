#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "shale/base/checksum.hpp"

#include "formats/lmdb/lmdb_node.hpp"
#include "tests/formats/lmdb/lmdb_page_builder.hpp"
#include "tests/formats/lmdb/lmdb_scan_tools.hpp"
#include "tests/formats/lmdb/msgpack_hand.hpp"

namespace shale {
namespace {

using test::bytes_at;
using test::error_of;
using test::LmdbBuilder;
using test::LmdbScanned;
using test::mp_array;
using test::mp_bin;
using test::mp_int;
using test::mp_map;
using test::mp_real;
using test::mp_str;
using test::mp_tensor;
using test::TempDir;
using Map = std::vector<std::pair<std::string, std::string>>;
using Entries = std::vector<std::pair<std::string, std::string>>;

const Schema& schema_of_maps() {
  static const Schema schema{.fields = {{"image", Kind::bytes, {}, {}},
                                        {"caption", Kind::text, {}, {}},
                                        {"label", Kind::integer, {}, {}},
                                        {"score", Kind::real, {}, {}},
                                        {"depth", Kind::tensor, DType::parse("<u2"), {2, 3}},
                                        {"frames", Kind::list, {}, {}}}};
  return schema;
}

// A sample of schema_of_maps() as shale writes it.
Map sample_map(std::uint64_t number, std::size_t image_bytes = 10) {
  return {{"key", mp_bin(fmt::format("cat/{}.jpg", number))},
          {"image", mp_bin(std::string(image_bytes, 'J'))},
          {"caption", mp_str("a cat")},
          {"label", mp_int(static_cast<std::int64_t>(number) - 3)},
          {"score", mp_real(0.5)},
          {"depth", mp_tensor("<u2", {2, 3}, "AABBCCDDEEFF")},
          {"frames", mp_array({mp_bin("one"), mp_bin(""), mp_bin("three")})}};
}

Entries own_entries(std::uint64_t count, std::size_t image_bytes = 10) {
  Entries entries;
  for (std::uint64_t i = 0; i < count; ++i)
    entries.emplace_back(fmt::format("{:08}", i), mp_map(sample_map(i, image_bytes)));
  return entries;
}

LmdbScanned scan_own(const std::string& path, bool reads_payload = true) {
  ShardLayout layout;
  layout.has_whole_records = true;
  return test::scan_lmdb(path, schema_of_maps(), layout, reads_payload);
}

LmdbScanned scan_own_bytes(const std::string& bytes, bool reads_payload = true) {
  const TempDir dir;
  test::write_file(dir / "a.lmdb", bytes);
  return scan_own(dir / "a.lmdb", reads_payload);
}

TEST_CASE("lmdb scan: shale's own maps give places, numbers and checksums of every field") {
  for (const std::size_t image_bytes : {std::size_t{10}, std::size_t{1700}, std::size_t{900'000}}) {
    CAPTURE(image_bytes);
    const TempDir dir;
    const Entries entries = own_entries(40, image_bytes);
    const std::string path = dir / "a.lmdb";
    test::write_file(path, LmdbBuilder(4096).build(entries));

    const LmdbScanned scanned = scan_own(path);

    CHECK(scanned.first_finding() == "");
    REQUIRE(scanned.rows.size() == 40);
    const IndexRow& row = scanned.rows[7];
    CHECK(bytes_at(path, row.key) == "cat/7.jpg");
    CHECK(row.key_hash == xxh3_64(as_bytes("cat/7.jpg")));
    CHECK((bytes_at(path, row.cells[0].place) == std::string(image_bytes, 'J')));
    CHECK(bytes_at(path, row.cells[1].place) == "a cat");
    CHECK(row.cells[2].integer == 4);
    CHECK(row.cells[3].real == 0.5);
    CHECK(bytes_at(path, row.cells[4].place) == "AABBCCDDEEFF");
    CHECK(bytes_at(path, row.cells[5].place) ==
          mp_array({mp_bin("one"), mp_bin(""), mp_bin("three")}));
    CHECK(row.cells[5].place.count == 3);
    const FieldPlace record{.offset = row.record_offset, .length = row.record_length};
    CHECK((bytes_at(path, record) == entries[7].second));
    for (const FieldPlace& place : {row.key, row.cells[0].place, row.cells[5].place})
      CHECK(place.crc32c == crc32c(as_bytes(bytes_at(path, place))));
  }
}

TEST_CASE("lmdb scan: without payload own rows are the same but for the checksums") {
  const std::string bytes = LmdbBuilder(4096).build(own_entries(40, 1700));
  std::vector<IndexRow> rows = scan_own_bytes(bytes).rows;
  for (IndexRow& row : rows) {
    row.key.crc32c = 0;
    for (IndexCell& cell : row.cells) cell.place.crc32c = 0;
  }
  CHECK((scan_own_bytes(bytes, false).rows == rows));
}

TEST_CASE(
    "lmdb scan: an own map that is not as the schema has it is named, row, sample and field") {
  using Change = std::function<void(Map&)>;
  struct Row {
    std::string_view finding;
    Change change;
  };
  const auto put = [](std::size_t at, std::string value) -> Change {
    return [=](Map& map) { map[at].second = value; };
  };
  const Row rows[] = {
      {"", [](Map&) {}},
      {"field 'label': map has no entry 'label'", [](Map& map) { map.erase(map.begin() + 3); }},
      {"field 'key': map has no entry 'key'", [](Map& map) { map.erase(map.begin()); }},
      {"map has an entry that the schema does not have: found other",
       [](Map& map) { map.emplace_back("other", mp_int(1)); }},
      {"map repeats entries, or has them in the wrong order",
       [](Map& map) { std::swap(map[1], map[2]); }},
      {"map repeats entries, or has them in the wrong order",
       [](Map& map) { map.push_back(map[1]); }},
      {"field 'key': entry 'key' of the map is not a valid key: found a string of 1 bytes",
       put(0, mp_str("k"))},
      {"field 'image': value of the map has the wrong type: found a string, expected bytes",
       put(1, mp_str("JPEG"))},
      {"field 'caption': value of the map has the wrong type: found bytes, expected text",
       put(2, mp_bin("a cat"))},
      {"field 'label': value of the map has the wrong type: found a float, expected integer",
       put(3, mp_real(3))},
      {"field 'label': value of the map has the wrong type: found a boolean", put(3, "\xc3")},
      {"field 'label': value of the map has the wrong type: found an integer above 2^63 - 1",
       put(3, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff")},
      {"field 'score': value of the map has the wrong type: found a float, expected real",
       put(4, test::mp_float32(0.5))},
      {"field 'depth': value of the map has the wrong type: found bytes, expected tensor",
       put(5, mp_bin("AABBCCDDEEFF"))},
      {"field 'depth': value is not a map of dtype, shape and data",
       put(5, mp_map({{"dtype", mp_str("<u2")}}))},
      {"field 'depth': tensor has the wrong dtype: found <i2, expected <u2",
       put(5, mp_tensor("<i2", {2, 3}, "AABBCCDDEEFF"))},
      {"field 'depth': tensor has the wrong shape: found (3, 2), expected (2, 3)",
       put(5, mp_tensor("<u2", {3, 2}, "AABBCCDDEEFF"))},
      {"field 'depth': tensor's data has the wrong size: found 11 bytes, expected those of uint16 "
       "(2, 3)",
       put(5, mp_tensor("<u2", {2, 3}, "AABBCCDDEEF"))},
      {"field 'frames': value of the map has the wrong type: found an array, expected list",
       put(6, mp_array({mp_bin("one"), mp_str("two")}))},
      {"value is not a sample's map (1 bytes are left over after a msgpack map)",
       [](Map& map) { map[6].second += '\0'; }},
      {"value is not a sample's map (msgpack value begins with 0xc1, which is never used)",
       put(6, "\xc1")},
  };
  for (const Row& row : rows) {
    CAPTURE(row.finding);
    Map map = sample_map(1);
    row.change(map);
    Entries entries = own_entries(3);
    entries[1].second = mp_map(map);
    const LmdbScanned scanned = scan_own_bytes(LmdbBuilder(4096).build(entries), false);
    CHECK(scanned.rows.size() == 3);
    CHECK(scanned.findings.size() == (row.finding.empty() ? 0 : 1));
    CHECK_MESSAGE(scanned.first_finding().find(row.finding) != std::string::npos,
                  scanned.first_finding());
    if (!scanned.findings.empty()) CHECK(scanned.findings[0].row == 1);
  }
}

TEST_CASE("lmdb scan: own keys count the rows, and a lost page keeps the numbers behind it") {
  const std::string bytes = LmdbBuilder(4096).build(own_entries(60));
  const std::vector<IndexRow> rows = scan_own_bytes(bytes).rows;
  std::string damaged = bytes;
  damaged[3 * 4096 + 10] = '\xff';  // the second leaf

  const LmdbScanned scanned = scan_own_bytes(damaged);

  CHECK(scanned.findings.size() == 2);
  REQUIRE(scanned.rows.size() == 60);
  std::size_t empty = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_empty = scanned.rows[i].record_offset == kMissing;
    empty += is_empty ? 1 : 0;
    if (!is_empty) CHECK((scanned.rows[i] == rows[i]));
  }
  CHECK(empty > 10);
  CHECK(empty < 30);
}

TEST_CASE("lmdb scan: an own key that is not the number of its row is named") {
  Entries entries = own_entries(10);
  entries.erase(entries.begin() + 5);

  const LmdbScanned scanned = scan_own_bytes(LmdbBuilder(4096).build(entries));

  CHECK(scanned.rows.size() == 9);
  REQUIRE(scanned.findings.size() == 4);  // this one and all behind it
  CHECK(scanned.findings[0].message == "key is not the number of its row");
  CHECK(scanned.findings[0].row == 5);
  CHECK(scanned.findings[0].found == "00000006");
  CHECK(scanned.findings[0].expected == "00000005");
}

TEST_CASE("lmdb scan: every flipped bit of a tree's page of ours is found, or changes nothing") {
  const TempDir dir;
  const std::string path = dir / "a.lmdb";
  Entries entries = own_entries(4);
  entries[2].second = mp_map(sample_map(2, 5000));
  const std::string sound = LmdbBuilder(4096).build(entries);
  test::write_file(path, sound);
  const std::vector<IndexRow> checked_rows = scan_own(path).rows;
  const std::size_t leaf = sound.size() - 4096;
  const lmdb::PageContents page =
      lmdb::read_page(as_bytes(sound).subspan(leaf), leaf / 4096, [](const lmdb::PageFault&) {});
  REQUIRE(page.nodes.size() == 4);
  for (std::size_t at = 0; at < 4096; ++at) {
    const bool is_in_node =
        std::any_of(page.nodes.begin(), page.nodes.end(),
                    [&](const lmdb::PageNode& node) { return at >= node.begin && at < node.end; });
    const bool is_padding = at == 8 || at == 9;
    if (!is_in_node && (is_padding || at >= 24)) continue;  // nothing lies there
    for (int bit = 0; bit < 8; ++bit) {
      test::set_byte(path, leaf + at, sound[leaf + at] ^ (1 << bit));
      const LmdbScanned scanned = scan_own(path);
      if (scanned.findings.empty() && scanned.rows == checked_rows)
        FAIL_CHECK("byte ", at, ", bit ", bit, " was flipped unseen");
    }
    test::set_byte(path, leaf + at, sound[leaf + at]);
  }
}

TEST_CASE("lmdb scan: a file of ours has no free, lost or cut pages, and no others") {
  const std::string sound = LmdbBuilder(4096).build(own_entries(60));
  const auto first_finding = [](const std::string& bytes) {
    return scan_own_bytes(bytes).first_finding();
  };
  std::string longer = sound + std::string(4096, '\0'), lost = longer;
  const std::uint64_t pages = sound.size() / 4096;
  test::set_number(lost, 4096 + 136, pages);
  std::string flagged = sound;
  test::set_number(flagged, 4096 + 92, std::uint16_t{lmdb::kReverseKey});

  CHECK(first_finding(sound) == "");
  CHECK(first_finding(longer).find("last page in use is not the last page of the file") !=
        std::string::npos);
  CHECK(first_finding(lost).find(fmt::format("page {} is neither in use nor free", pages)) !=
        std::string::npos);
  CHECK(first_finding(flagged).find("meta page differs from what shale writes") !=
        std::string::npos);
  CHECK(first_finding(LmdbBuilder(8192).build(own_entries(3))).find("pages of 8192 bytes") !=
        std::string::npos);
}

// The survey of a file whose entries have these values.
Survey survey_of_maps(const std::vector<std::string>& values, LmdbScanned* scanned = nullptr,
                      Entries* fields = nullptr) {
  const TempDir dir;
  Entries entries;
  for (const std::string& value : values)
    entries.emplace_back(fmt::format("k{:06}", entries.size()), value);
  test::write_file(dir / "a.lmdb", LmdbBuilder(4096).build(entries));
  Survey survey = survey_lmdb_file(InputFile(dir / "a.lmdb"), Dialect::msgpack);
  if (scanned == nullptr) return survey;
  *scanned = test::scan_lmdb(dir / "a.lmdb", survey.schema, survey.layout, true);
  for (const IndexRow& row : scanned->rows)
    fields->emplace_back(bytes_at(dir / "a.lmdb", row.key),
                         bytes_at(dir / "a.lmdb", row.cells[0].place));
  return survey;
}

TEST_CASE("lmdb survey: maps of one shape become fields, and the scan reads them") {
  std::vector<std::string> values;
  for (std::uint64_t i = 0; i < 100; ++i) values.push_back(mp_map(sample_map(i, i * 100)));
  LmdbScanned scanned;
  Entries fields;

  const Survey survey = survey_of_maps(values, &scanned, &fields);

  CHECK(survey.schema == schema_of_maps());
  CHECK(survey.layout.dialect == Dialect::msgpack);
  CHECK(survey.layout.field_part.size() == 6);
  CHECK(scanned.first_finding() == "");
  REQUIRE(scanned.rows.size() == 100);
  CHECK(fields[30].first == "cat/30.jpg");
  CHECK(fields[30].second.size() == 3000);
  CHECK(scanned.rows[30].cells[2].integer == 27);
  CHECK(scanned.rows[30].cells[0].place.crc32c == crc32c(as_bytes(fields[30].second)));
}

TEST_CASE("lmdb survey: what other writers put into maps is taken") {
  // Without bin (msgpack-python before 1.0), booleans, float32, names as bin, any order of names.
  const std::string jpeg = "\xff\xd8\xff JPEG";
  const std::string one = "\x83" + mp_bin("x") + mp_str(jpeg) + mp_bin("n") + "\xc3" + mp_bin("r") +
                          test::mp_float32(1.5F);
  const std::string two = "\x83" + mp_bin("r") + mp_real(2.5) + mp_bin("x") + mp_bin(jpeg + "2") +
                          mp_bin("n") + mp_int(-7);
  LmdbScanned scanned;
  Entries fields;

  const Survey survey = survey_of_maps({one, two}, &scanned, &fields);

  REQUIRE(survey.schema.fields.size() == 3);
  CHECK(survey.schema.fields[0].kind == Kind::bytes);
  CHECK(survey.schema.fields[1].kind == Kind::integer);
  CHECK(survey.schema.fields[2].kind == Kind::real);
  CHECK(scanned.first_finding() == "");
  CHECK(fields == Entries{{"k000000", jpeg}, {"k000001", jpeg + "2"}});
  CHECK(scanned.rows[0].cells[1].integer == 1);
  CHECK(scanned.rows[0].cells[2].real == 1.5);
  CHECK(scanned.rows[1].cells[1].integer == -7);
  CHECK(scanned.rows[1].cells[2].real == 2.5);
}

TEST_CASE("lmdb survey: a string is text where it is short UTF-8 in every entry") {
  struct Row {
    std::string first, second;
    Kind kind;
  };
  const Row rows[] = {{"a", "b\xc3\xa4", Kind::text},
                      {"", "", Kind::text},
                      {"a", "\xff", Kind::bytes},
                      {"\xff", "a", Kind::bytes},
                      {"a", std::string(4096, 'a'), Kind::text},
                      {"a", std::string(4097, 'a'), Kind::bytes}};
  for (const Row& row : rows) {
    CAPTURE(row.second);
    const Survey survey =
        survey_of_maps({mp_map({{"f", mp_str(row.first)}}), mp_map({{"f", mp_str(row.second)}})});
    CHECK(survey.schema.fields[0].kind == row.kind);
  }
}

TEST_CASE("lmdb survey: arrays that differ in shape are ragged, what maps lack is optional") {
  const auto numpy = [](const std::vector<std::int64_t>& shape, std::string_view data) {
    std::vector<std::string> sides;
    for (const std::int64_t side : shape) sides.push_back(mp_int(side));
    return "\x85" + mp_bin("nd") + "\xc3" + mp_bin("type") + mp_str("<u2") + mp_bin("kind") +
           mp_bin("") + mp_bin("shape") + mp_array(sides) + mp_bin("data") + mp_bin(data);
  };
  const auto words = [](std::vector<std::string> texts) {
    for (std::string& text : texts) text = mp_str(text);
    return mp_array(texts);
  };
  LmdbScanned scanned;
  Entries boxes;

  const Survey survey = survey_of_maps(
      {mp_map({{"boxes", numpy({1, 2}, "aabb")}, {"words", words({"a", "b"})}, {"none", "\xc0"}}),
       mp_map({{"boxes", mp_tensor("<u2", {3, 2}, "ccddeeffgghh")},
               {"score", mp_real(1.5)},
               {"words", words({})},
               {"n", mp_int(7)}}),
       mp_map({{"n", "\xc0"}, {"words", words({"c"})}, {"boxes", "\xc0"}})},
      &scanned, &boxes);

  const Schema expected{.fields = {{.name = "boxes",
                                    .kind = Kind::tensor,
                                    .dtype = DType::parse("<u2"),
                                    .shape = {kFreeSide, 2},
                                    .is_optional = true},
                                   {.name = "words", .kind = Kind::list, .elements = Kind::text},
                                   {.name = "score", .kind = Kind::real, .is_optional = true},
                                   {.name = "n", .kind = Kind::integer, .is_optional = true}}};
  CHECK(survey.schema == expected);
  REQUIRE(survey.left_out.count() == 1);
  CHECK(survey.left_out.entries[0].name == "none");
  CHECK(scanned.first_finding() == "");
  REQUIRE(scanned.rows.size() == 3);
  CHECK(boxes == Entries{{"k000000", "aabb"}, {"k000001", "ccddeeffgghh"}, {"k000002", "missing"}});
  CHECK(scanned.rows[0].sides == std::vector<std::uint64_t>{1, 2});
  CHECK(scanned.rows[1].sides == std::vector<std::uint64_t>{3, 2});
  CHECK(scanned.rows[2].sides == std::vector<std::uint64_t>{0, 0});
  CHECK(scanned.rows[0].cells[1].place.count == 2);
  CHECK(scanned.rows[0].cells[2].lacks_number);
  CHECK(!scanned.rows[1].cells[3].lacks_number);
  CHECK(scanned.rows[2].cells[3].lacks_number);
}

TEST_CASE("lmdb survey: the first entry that is no map like the others is named") {
  const Map sound = {{"x", mp_bin("1")}, {"n", mp_int(1)}};
  struct Row {
    std::string value;
    std::string_view message;
  };
  const Row rows[] = {
      {"\x93\x01\x02\x03",
       "msgpack: the value cannot be split into fields (value is an array, not a msgpack map)"},
      {mp_map({{"x", mp_bin("1")}, {"n", mp_int(1)}, {"n", mp_int(2)}}),
       "msgpack: field 'n' occurs twice"},
      {mp_map({{"x", mp_bin("1")}, {"n", mp_int(1)}, {"key", mp_bin("k")}}),
       "msgpack: a 'key' is in this map, unlike in those before it"},
      {"pickle",
       "msgpack: the value cannot be split into fields (value is an integer, not a "
       "msgpack map)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const Error error = error_of([&] { (void)survey_of_maps({mp_map(sound), row.value, "\x80"}); });
    CHECK(error.code() == Code::unsupported);
    CHECK(error.message() == row.message);
    REQUIRE(error.sample());
    CHECK(error.sample()->key == "k000001");
    CHECK(error.hint().find("pass --parse plain") != std::string::npos);
  }
}

TEST_CASE("lmdb survey: what no field can hold is left out by name, and stops no other field") {
  LmdbScanned scanned;
  Entries n;

  const Survey survey = survey_of_maps(
      {mp_map({{"n", mp_bin("1")}, {"x", mp_bin("a")}, {"boxes", mp_bin("b")}}),
       mp_map({{"x", mp_int(7)}, {"n", mp_bin("2")}, {"boxes", mp_array({mp_int(1)})}}),
       mp_map({{"n", mp_bin("3")}, {"boxes", mp_bin("c")}, {"x", mp_bin("a")}})},
      &scanned, &n);

  CHECK(survey.schema.fields == std::vector<Field>{{.name = "n", .kind = Kind::bytes}});
  CHECK(survey.left_out.entries ==
        std::vector<LeftOut>{{"entry", "x", "mixed_types"}, {"entry", "boxes", "list_of_numbers"}});
  CHECK(survey.notes.at(0) ==
        "'x' is left out: in the value of 'k000001' field 'x' is integer, but in the values before "
        "it bytes");
  CHECK(scanned.first_finding() == "");
  CHECK(n == Entries{{"k000000", "1"}, {"k000001", "2"}, {"k000002", "3"}});
}

TEST_CASE("lmdb survey: a file of nothing but what no kind can hold is refused by field") {
  struct Row {
    std::string name, value;
    std::string_view message;
  };
  const Row rows[] = {
      {"f", std::string("\x81\x01\x02"),
       "msgpack: field 'f' is a map that is not a tensor, which no field can hold"},
      {"f", std::string("\xd4\x01\x02"),
       "msgpack: field 'f' is an extension, which no field can hold"},
      {"f", mp_array({mp_int(1)}),
       "msgpack: field 'f' is a list of numbers: 'shale convert' makes arrays of lists whose "
       "numbers have one type, and as many axes, in all values"},
      {"f", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
       "msgpack: field 'f' is an integer above 2^63 - 1, which no field can hold"},
      {"f", mp_tensor("<u2", {2, 3}, "A"),
       "msgpack: field 'f' has 1 bytes for a tensor uint16 (2, 3)"},
      {"f", mp_tensor("|O", {2, 3}, "A"),
       "msgpack: field 'f': dtype '|O' holds Python objects, which only pickle can read"},
      {"a.b", mp_int(1), "field name 'a.b' contains '.'"},
      {"offset", mp_int(1), "field name 'offset' is reserved by the index"},
      {"", mp_int(1), "field name '' is empty"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    const Error error = error_of([&] { (void)survey_of_maps({mp_map({{row.name, row.value}})}); });
    CHECK(error.message() == row.message);
  }
  CHECK(error_of([] {
          (void)survey_of_maps({mp_map({{"f", mp_int(1)}, {"f", mp_int(1)}})});
        }).message() == "msgpack: field 'f' occurs twice");
  CHECK(error_of([] { (void)survey_of_maps({}); }).code() == Code::unsupported);
}

TEST_CASE("lmdb survey: damage that hides entries is an error where fields hang on them") {
  const TempDir dir;
  std::string bytes = LmdbBuilder(4096).build(own_entries(60));
  bytes[3 * 4096 + 10] = '\xff';
  test::write_file(dir / "a.lmdb", bytes);
  const InputFile file(dir / "a.lmdb");

  const Error error = error_of([&] { (void)survey_lmdb_file(file, Dialect::msgpack); });

  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "cannot determine the fields: page 3 is not a tree page");
  CHECK(error.offset() == 3 * 4096 + 10);
  CHECK(survey_lmdb_file(file, Dialect::plain).schema.fields.size() == 1);
  CHECK(error_of([&] { (void)survey_lmdb_file(file, Dialect::own); }).code() == Code::usage);
}

}  // namespace
}  // namespace shale
