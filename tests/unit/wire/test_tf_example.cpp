#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/tf_example.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::hex;
using test::unhex;
using Integers = std::span<const std::int64_t>;
using ByteList = std::span<const Bytes>;

std::vector<ParsedFeature> features_of(Bytes bytes) {
  return parse_example(
      [&](std::uint64_t offset, std::uint64_t length) { return bytes.subspan(offset, length); }, 0,
      bytes.size(), "a.tfrecord");
}

std::string encoded(std::span<const Feature> features) {
  Blob blob;
  (void)append_example(features, blob);
  CHECK(blob.size() == example_bytes(features));
  return hex(blob.flattened());
}

TEST_CASE("tf example: an integer and a byte string are written as TensorFlow writes them") {
  const std::int64_t three[] = {3};
  const Feature features[] = {{"label", Integers(three)}, {"x", as_bytes("AB")}};

  // reference/formats.md 3.2
  CHECK(encoded(features) == "0a1d0a0e0a056c6162656c12051a030a01030a0b0a017812060a040a024142");
}

TEST_CASE("tf example: a negative integer is a varint of ten bytes") {
  const std::int64_t values[] = {-1, std::numeric_limits<std::int64_t>::min()};
  const Feature features[] = {{"n", Integers(values)}};

  CHECK(
      encoded(features).ends_with("0a14"
                                  "ffffffffffffffffff01"
                                  "80808080808080808001"));
}

TEST_CASE("tf example: empty values keep their list message") {
  const Feature features[] = {{"a", Bytes()}, {"b", ByteList()}, {"c", Integers()}};

  CHECK(encoded(features) ==
        "0a1d"
        "0a090a016112040a020a00"
        "0a070a016212020a00"
        "0a070a016312021a00");
}

TEST_CASE("tf example: places point at the elements, the run of a list and the packed integers") {
  const std::string large(1000, 'L');
  const Bytes frames[] = {as_bytes("one"), as_bytes(large), Bytes()};
  const std::int64_t shape[] = {300, 2};
  const Feature features[] = {
      {"b", as_bytes(large)}, {"f", ByteList(frames)}, {"s", Integers(shape)}};
  Blob blob;
  blob.append_copy(as_bytes("in front"));

  const std::vector<FieldPlace> places = append_example(features, blob);

  const auto stored = blob.flattened();
  const auto at = [&](const FieldPlace& place) {
    return std::string(as_text(Bytes(stored).subspan(8 + place.offset, place.length)));
  };
  CHECK(at(places[0]) == large);
  CHECK(at(places[1]) == "\x0a\x03one\x0a\xe8\x07" + large + std::string("\x0a\0", 2));
  CHECK(places[1].count == 3);
  CHECK(at(places[2]) == "\xac\x02\x02");
}

TEST_CASE("tf example: a large element is borrowed unless it says that it will not last") {
  const std::string large(1000, 'L');
  for (const bool is_copied : {false, true}) {
    CAPTURE(is_copied);
    const Feature features[] = {{.name = "b", .value = as_bytes(large), .is_copied = is_copied}};
    Blob blob;
    (void)append_example(features, blob);
    bool is_borrowed = false;
    blob.for_each_piece(
        [&](Bytes piece) { is_borrowed |= piece.data() == as_bytes(large).data(); });
    CHECK(is_borrowed != is_copied);
  }
}

TEST_CASE("tf example: what was written is parsed back") {
  const std::string large(100'000, 'L');
  const Bytes frames[] = {as_bytes("one"), as_bytes(large)};
  const std::int64_t numbers[] = {-5, 7, std::int64_t{1} << 62};
  const Feature features[] = {
      {"b", as_bytes(large)}, {"f", ByteList(frames)}, {"n", Integers(numbers)}};
  Blob blob;
  const std::vector<FieldPlace> places = append_example(features, blob);

  const std::vector<ParsedFeature> parsed = features_of(blob.flattened());

  REQUIRE(parsed.size() == 3);
  CHECK(parsed[0].name == "b");
  CHECK(parsed[0].first_offset == places[0].offset);
  CHECK(parsed[0].first_length == places[0].length);
  CHECK(parsed[1].count == 2);
  CHECK(parsed[1].list_offset == places[1].offset);
  CHECK(parsed[1].list_length == places[1].length);
  CHECK(parsed[2].integers == std::vector<std::int64_t>{-5, 7, std::int64_t{1} << 62});
}

TEST_CASE("tf example: the elements of a BytesList are stepped over, not read") {
  const std::string large(1 << 20, 'L');
  const Feature features[] = {{"a", as_bytes(large)}, {"b", as_bytes(large)}};
  Blob blob;
  (void)append_example(features, blob);
  const auto stored = blob.flattened();
  std::uint64_t seen = 0;
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    seen += length;
    return Bytes(stored).subspan(offset, length);
  };

  CHECK(parse_example(view, 0, stored.size(), "a.tfrecord").size() == 2);
  CHECK(seen <= 256);
}

TEST_CASE("tf example: every way to write the same numbers is read") {
  struct Row {
    std::string_view what, bytes;
    std::uint64_t count;
  };
  constexpr Row kRows[] = {
      {"packed integers", "0a0d 0a0b 0a0161 1206 1a04 0a02 0305", 2},
      {"unpacked integers", "0a0d 0a0b 0a0161 1206 1a04 0803 0805", 2},
      {"integers in two packs", "0a0f 0a0d 0a0161 1208 1a06 0a0103 0a0105", 2},
      {"value before name", "0a0d 0a0b 1206 1a04 0a02 0305 0a0161", 2},
      {"packed floats", "0a13 0a11 0a0161 120c 120a 0a08 0000803f 00000040", 2},
      {"unpacked floats", "0a13 0a11 0a0161 120c 120a 0d0000803f 0d00000040", 2},
      {"unknown fields around", "4801 0a14 0a0d 0a0161 1206 1a04 0a02 0305 4801 1d01020304", 2},
      {"empty list", "0a09 0a07 0a0161 1202 1a00", 0},
      {"no list at all", "0a07 0a05 0a0161 1200", 0},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    const std::vector<ParsedFeature> parsed = features_of(unhex(row.bytes));
    REQUIRE(parsed.size() == 1);
    CHECK(parsed[0].name == "a");
    CHECK(parsed[0].count == row.count);
  }
}

TEST_CASE("tf example: hostile bytes are refused with file and offset") {
  struct Row {
    std::string_view what, bytes;
    Code code;
    std::uint64_t offset;
  };
  constexpr Row kRows[] = {
      {"length beyond the message", "0a0d 0a0b 0a0161 12ff01", Code::damaged, 0},
      {"entry longer than features", "0a05 0a7f 0a0161", Code::damaged, 2},
      {"length of 2^64 - 1", "0a0b 0affffffffffffffffff01", Code::damaged, 2},
      {"varint without end", "0affffffffffffffffffff01", Code::damaged, 1},
      {"varint cut short", "0a03 0a80 80", Code::damaged, 5},
      {"group", "0b", Code::damaged, 0},
      {"field number 0", "0200", Code::damaged, 0},
      {"integer in a BytesList", "0a0b 0a09 0a0161 1204 0a02 0805", Code::damaged, 11},
      {"float of 3 bytes", "0a0e 0a0c 0a0161 1207 1205 0a03 000000", Code::damaged, 11},
      {"value in two pieces", "0a0d 0a0b 0a0161 1206 1a010a 1a0105", Code::damaged, 0},
      {"two lists", "0a0d 0a0b 0a0161 1204 0a00 1a00 1800", Code::unsupported, 11},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    const Error error = error_of([&] { (void)features_of(unhex(row.bytes)); });
    CHECK(error.code() == row.code);
    CHECK(error.file() == "a.tfrecord");
    CHECK(error.offset().has_value());
    if (row.offset > 0) CHECK(error.offset() == row.offset);
  }
}

TEST_CASE("tf example: more features than the limit are refused before they fill the memory") {
  std::vector<std::byte> entries;
  for (std::uint64_t i = 0; i <= kMaxFeatures; ++i)
    entries.insert(entries.end(), {std::byte{0x0a}, std::byte{0}});
  ByteWriter out;
  out.write(std::uint8_t{0x0a});
  out.write_varint(entries.size());
  out.write_bytes(entries);

  CHECK(error_of([&] { (void)features_of(out.bytes()); }).code() == Code::limit);
}

TEST_CASE("tf example: random changes never read outside and never loop") {
  const std::string text(90, 'T');
  const std::int64_t numbers[] = {1, -1, 300};
  const Bytes list[] = {as_bytes("x"), as_bytes(text)};
  const Feature features[] = {
      {"a", as_bytes(text)}, {"l", ByteList(list)}, {"n", Integers(numbers)}};
  Blob blob;
  (void)append_example(features, blob);
  const auto original = blob.flattened();
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = original;
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    bytes.resize(bytes.size() - random() % 8);
    try {
      for (const ParsedFeature& feature : features_of(bytes)) {
        CHECK(feature.list_offset + feature.list_length <= bytes.size());
        CHECK(feature.first_offset + feature.first_length <= bytes.size());
      }
    } catch (const Error& error) {
      CHECK(error.offset().has_value());
    }
  }
}

TEST_CASE("tf example: of floats the first run that is not empty is placed") {
  // {"f": [1, 2]} packed behind an empty run; {"g": [1, 2]}, a tag each.
  const auto bytes = unhex(
      "0a2a"
      "0a13"
      "0a0166"
      "120e"
      "120c"
      "0a00"
      "0a08"
      "0000803f"
      "00000040"
      "0a13"
      "0a0167"
      "120e"
      "120c"
      "0d0000803f"
      "0d00000040"
      "0a00");
  const std::vector<ParsedFeature> parsed = features_of(bytes);
  REQUIRE(parsed.size() == 2);
  CHECK(parsed[0].count == 2);
  CHECK(parsed[0].first_length == 8);
  CHECK(hex(Bytes(bytes).subspan(parsed[0].first_offset, 8)) == "0000803f00000040");
  CHECK(parsed[1].count == 2);
  CHECK(parsed[1].first_length == 4);
}

TEST_CASE(
    "tf example: the feature lists of a SequenceExample are refused, its context is not all") {
  CHECK(error_of([] { (void)features_of(unhex("0a0012020a00")); }).code() == Code::unsupported);
}

}  // namespace
}  // namespace shale
