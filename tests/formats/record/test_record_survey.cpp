#include <doctest/doctest.h>

#include "shale/base/error.hpp"

#include "tests/formats/record/foreign_record_tools.hpp"

namespace shale {
namespace {

using namespace test;

std::string refusal_of(std::string_view bytes) {
  return error_of([&] { (void)read_foreign_bytes(bytes); }).message();
}

TEST_CASE("record survey: features become fields by what all records hold, sorted by name") {
  struct Row {
    std::string first, second;  // a feature of two records
    std::string_view fields;
  };
  const std::string jpeg = "\xff\xd8\xff";
  const Row rows[] = {
      {bytes_feature("b", {jpeg}), bytes_feature("b", {"text"}), "b:bytes"},
      {bytes_feature("b", {"a\tb"}), bytes_feature("b", {"\xc3\xa4\n"}), "b:text"},
      {bytes_feature("b", {"a"}), bytes_feature("b", {std::string("\0\1", 2)}), "b:bytes"},
      {bytes_feature("b", {std::string(4096, 'x')}), bytes_feature("b", {""}), "b:text"},
      {bytes_feature("b", {std::string(4097, 'x')}), bytes_feature("b", {""}), "b:bytes"},
      {bytes_feature("b", {"a"}), bytes_feature("b", {"a", "b"}), "b:list"},
      {bytes_feature("b", {}), bytes_feature("b", {"a"}), "b:list"},
      {integers_feature("i", {1}), integers_feature("i", {-1}), "i:integer"},
      {floats_feature("f", {1}), floats_feature("f", {2}), "f:real"},
      {floats_feature("f", {1, 2, 3}), floats_feature("f", {4, 5, 6}), "f:tensor(3)"},
      {floats_feature("f", {1}), floats_feature("f", {1, 2}), "f:tensor(?)"},
      {floats_feature("f", {}), floats_feature("f", {1, 2}), "f:tensor(?)"},
      {integers_feature("i", {1}), integers_feature("i", {}), "i:integer?"},
      {floats_feature("f", {}), floats_feature("f", {1}), "f:real?"},
      {integers_feature("i", {1}), feature("i", ""), "i:integer?"},
      {"", integers_feature("i", {1}), "i:integer?"},
      {floats_feature("f", {1}), "", "f:real?"},
      {floats_feature("f", {1, 2}), "", "f:tensor(2)?"},
      {bytes_feature("b", {"a"}), "", "b:text?"},
      {"", bytes_feature("b", {"a", "b"}), "b:list?"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.fields);
    const std::string id = bytes_feature("z", {jpeg});
    const ReadForeign read =
        read_foreign_bytes(example({id, row.first}) + example({row.second, id}));
    CHECK(fields_of(read.survey) == std::string(row.fields) + " z:bytes");
    CHECK(read.survey.notes.empty());
    CHECK(read.findings.empty());
    CHECK(read.rows.size() == 2);
  }
}

TEST_CASE("record survey: what cannot be located in place is left out, with a note that says why") {
  struct Row {
    std::string first, second;
    std::string_view note;
  };
  const std::string unpacked =
      message(2, "\x0d" + packed_floats({1}) + "\x0d" + packed_floats({2}));
  const std::string two_runs =
      message(2, message(1, packed_floats({1})) + message(1, packed_floats({2})));
  const Row rows[] = {
      {integers_feature("x", {1, 2, 3, 4}), integers_feature("x", {5, 6, 7, 8}),
       "varint lists of 4 integers cannot be located in place"},
      {integers_feature("x", {1, 2}), integers_feature("x", {}),
       "varint lists of several integers cannot be located in place"},
      {floats_feature("x", {}), floats_feature("x", {}), "its lists of numbers are empty"},
      {integers_feature("x", {}), integers_feature("x", {}), "its lists of numbers are empty"},
      {feature("x", unpacked), feature("x", unpacked), "its floats are not packed"},
      {feature("x", two_runs), feature("x", two_runs), "its floats are not packed"},
      {floats_feature("x", {1}), integers_feature("x", {1}),
       "its type of list differs between records"},
      {feature("x", ""), feature("x", ""), "it has no value in any record"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.note);
    const std::string id = bytes_feature("z", {"1"});
    const ReadForeign read =
        read_foreign_bytes(example({row.first, id}) + example({row.second, id}));
    CHECK(fields_of(read.survey) == "z:text");
    REQUIRE(read.survey.notes.size() == 1);
    CHECK(read.survey.notes[0] == "feature 'x' is left out: " + std::string(row.note));
    REQUIRE(read.survey.left_out.entries.size() == 1);
    CHECK(read.survey.left_out.entries[0].name == "x");
    CHECK(read.findings.empty());
  }
}

TEST_CASE("record survey: a file of which nothing can be located is refused") {
  CHECK(refusal_of(example({integers_feature("x", {1, 2})}))
            .starts_with("none of its features can be located in place: feature 'x'"));
}

TEST_CASE("record survey: '/' and '.' become '_', and names of the index get a '_' behind them") {
  const Survey survey =
      read_foreign_bytes(example({bytes_feature("image/class.text", {"a"}),
                                  bytes_feature("index", {"b"}), bytes_feature("plain", {"c"})}))
          .survey;

  CHECK(fields_of(survey) == "image_class_text:text index_:text plain:text");
  CHECK(survey.notes ==
        std::vector<std::string>{"feature 'image/class.text' is the field "
                                 "'image_class_text', 'index' is the field 'index_'"});
}

TEST_CASE(
    "record survey: features that would be one field are refused, and names that none can be") {
  CHECK(refusal_of(example({bytes_feature("a/b", {"1"}), bytes_feature("a.b", {"2"})})) ==
        "features 'a.b' and 'a/b' would both be the field 'a_b'");
  CHECK(refusal_of(example({bytes_feature("", {"1"})})) == "field name '' is empty");
  CHECK(refusal_of(example({bytes_feature("a\x01", {"1"})})) ==
        "field name 'a\\x01' contains a control character");
}

TEST_CASE("record survey: one 'key' or '__key__' of bytes in every record is the key") {
  const std::string id = bytes_feature("z", {"1"});
  const auto survey_of = [&](const std::string& first, const std::string& second) {
    const ReadForeign read = read_foreign_bytes(example({first, id}) + example({id, second}));
    CHECK(read.findings.empty());
    CHECK((read.rows[1].key.offset != kMissing) == read.survey.layout.has_keys);
    return fields_of(read.survey) + (read.survey.layout.has_keys ? " with keys" : "");
  };
  const std::string key = bytes_feature("key", {"k"}), other = bytes_feature("__key__", {"o"});
  CHECK(survey_of(key, key) == "z:text with keys");
  CHECK(survey_of(other, other) == "z:text with keys");
  CHECK(survey_of(other + key, key + other) == "__key__:text z:text with keys");
  CHECK(survey_of(key, "") == "key_:text? z:text");
  CHECK(survey_of(integers_feature("key", {1}), integers_feature("key", {2})) ==
        "key_:integer z:text");
  CHECK(survey_of(key, bytes_feature("key", {"k", "l"})) == "key_:list z:text");
}

TEST_CASE("record survey: one record that is no Example makes of each a field of bytes, 'value'") {
  const std::string sound = example({bytes_feature("z", {"1"})});
  const std::string sequence = message(1, bytes_feature("z", {"1"})) + message(2, "");
  const std::string no_utf8 = message(1, bytes_feature("z\xff", {"1"}));
  for (const std::string& odd :
       {std::string("raw"), std::string(), sequence, no_utf8, message(1, feature("z", ""))}) {
    CAPTURE(odd);
    const std::string bytes = sound + framed(odd);
    const ReadForeign read = read_foreign_bytes(bytes);
    CHECK(fields_of(read.survey) == "value:bytes");
    CHECK(!read.survey.layout.has_keys);
    REQUIRE(read.survey.notes.size() == 1);
    CHECK(read.survey.notes[0].starts_with("not all records are a tf.train.Example"));
    CHECK(read.findings.empty());
    REQUIRE(read.rows.size() == 2);
    const FieldPlace& place = read.rows[1].cells[0].place;
    CHECK(bytes.substr(place.offset, place.length) == odd);
    CHECK(place.crc32c == crc32c(as_bytes(odd)));
  }
}

TEST_CASE("record survey: a damaged record does not make the others raw") {
  std::string bytes = example({bytes_feature("z", {"1"})});
  const std::size_t second = bytes.size();
  bytes += example({bytes_feature("z", {"2"})}) + example({bytes_feature("z", {"3"})});
  bytes[second + kFrameHeaderBytes] = '\x7f';

  const ReadForeign read = read_foreign_bytes(bytes);

  CHECK(fields_of(read.survey) == "z:text");
  CHECK(read.rows.size() == 3);
  REQUIRE(read.findings.size() == 2);
  CHECK(read.findings[0].message == "checksum mismatch in the payload of the frame");
  CHECK(read.findings[1].message.starts_with("record cannot be parsed as a tf.train.Example"));
  CHECK(error_of([&] { (void)read_foreign_bytes(bytes.substr(second, second)); }).code() ==
        Code::damaged);
}

TEST_CASE("record survey: a file without frames has no samples") {
  const ReadForeign read = read_foreign_bytes("");
  CHECK(fields_of(read.survey) == "value:bytes");
  CHECK(read.rows.empty());
}

TEST_CASE("record survey: features beyond 1024 names are refused before they take memory") {
  std::string bytes;
  for (int i = 0; i <= 1024; ++i) bytes += example({bytes_feature("f" + std::to_string(i), {"1"})});
  CHECK(refusal_of(bytes) == "has more than 1024 different features");
}

TEST_CASE("record survey: a compressed file is recognised by its content, and refused by name") {
  const std::string frames = example({bytes_feature("z", {"1"})});
  const auto size = static_cast<std::uint16_t>(frames.size());
  const auto not_size = static_cast<std::uint16_t>(~size);
  const std::string stored = "\x01" + std::string(as_text(bytes_of(size))) +
                             std::string(as_text(bytes_of(not_size))) + frames;
  const std::string gzip = std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + stored + "CRC SIZE";
  const std::string zlib = "\x78\x01" + stored + "ADLE";
  CHECK(refusal_of(gzip).starts_with("is a TFRecord file compressed with gzip"));
  CHECK(refusal_of(zlib).starts_with("is a TFRecord file compressed with zlib"));
  const auto bid_on = [](const std::string& bytes) {
    return record_format.bid({"a", as_bytes(bytes), bytes.size()});
  };
  CHECK(bid_on(gzip) == 32);
  CHECK(bid_on(zlib) == 32);
  for (std::string other : {gzip, zlib}) {  // compressed, but no frames
    char& length = other[other.find(frames)];
    length = static_cast<char>(length ^ 1);
    CHECK(bid_on(other) == 0);
  }
}

}  // namespace
}  // namespace shale
