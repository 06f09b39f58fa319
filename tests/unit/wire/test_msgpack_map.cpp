#include <random>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/wire/msgpack_map.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::unhex;
using Type = MsgpackType;

// Parses bytes that lie at offset 1000 of what is viewed.
std::vector<MsgpackEntry> parse(Bytes bytes) {
  constexpr std::uint64_t kBase = 1000;
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return bytes.subspan(offset - kBase, length);
  };
  return parse_msgpack_map(view, kBase, bytes.size(), "file");
}

std::vector<MsgpackEntry> parse_hex(std::string_view digits) { return parse(unhex(digits)); }

// The map {"a": value}; the value begins at 1003.
MsgpackEntry value_of(std::string_view digits) {
  const auto map = parse_hex("81 a161 " + std::string(digits));
  REQUIRE(map.size() == 1);
  CHECK(map[0].name == "a");
  CHECK(map[0].value_offset == 1003);
  return map[0];
}

TEST_CASE("msgpack map: values are placed by their contents, whatever their encoding") {
  struct Row {
    std::string_view digits;
    Type type;
    std::uint64_t offset, length;
  };
  const Row rows[] = {
      {"c0", Type::nil, 1003, 1},
      {"c3", Type::boolean, 1003, 1},
      {"a0", Type::text, 1004, 0},
      {"a3 414243", Type::text, 1004, 3},
      {"d903 414243", Type::text, 1005, 3},
      {"da0003 414243", Type::text, 1006, 3},
      {"db00000003 414243", Type::text, 1008, 3},
      {"c403 414243", Type::bytes, 1005, 3},
      {"c50003 414243", Type::bytes, 1006, 3},
      {"c600000003 414243", Type::bytes, 1008, 3},
      {"c702 05 4142", Type::extension, 1003, 5},
      {"c80002 05 4142", Type::extension, 1003, 6},
      {"c900000002 05 4142", Type::extension, 1003, 8},
      {"d4 05 41", Type::extension, 1003, 3},
      {"d5 05 4142", Type::extension, 1003, 4},
      {"d8 05 41414141414141414141414141414141", Type::extension, 1003, 18},
      {"90", Type::array, 1003, 1},
      {"92 01 a141", Type::array, 1003, 4},
      {"dc0001 c0", Type::array, 1003, 4},
      {"dd00000001 c0", Type::array, 1003, 6},
      {"80", Type::map, 1003, 1},
      {"81 01 02", Type::map, 1003, 3},
      {"de0001 a141 91c0", Type::map, 1003, 7},
      {"df00000001 c0 c0", Type::map, 1003, 7},
  };
  for (const Row& row : rows) {
    CAPTURE(row.digits);
    const MsgpackEntry entry = value_of(row.digits);
    CHECK(entry.type == row.type);
    CHECK(entry.offset == row.offset);
    CHECK(entry.length == row.length);
  }
}

TEST_CASE("msgpack map: numbers of every width are read") {
  struct Row {
    std::string_view digits;
    std::int64_t integer;
  };
  const Row rows[] = {
      {"00", 0},
      {"7f", 127},
      {"e0", -32},
      {"ff", -1},
      {"ccff", 255},
      {"cdffff", 65'535},
      {"ceffffffff", 4'294'967'295},
      {"cf7fffffffffffffff", std::numeric_limits<std::int64_t>::max()},
      {"d080", -128},
      {"d18000", -32'768},
      {"d280000000", -2'147'483'648},
      {"d38000000000000000", std::numeric_limits<std::int64_t>::min()},
      {"d3ffffffffffffffff", -1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.digits);
    const MsgpackEntry entry = value_of(row.digits);
    CHECK(entry.type == Type::integer);
    CHECK(entry.integer == row.integer);
  }
  CHECK(value_of("cf8000000000000000").type == Type::large_integer);
  CHECK(value_of("c3").integer == 1);
  CHECK(value_of("c2").integer == 0);
  CHECK(value_of("ca3fc00000").real == 1.5);
  CHECK(value_of("cbbff8000000000000").real == -1.5);
  CHECK(value_of("cb0000000000000000").type == Type::real);
}

TEST_CASE("msgpack map: an array tells the types of its elements, their number and its integers") {
  const MsgpackEntry runs = value_of("93 c40141 c400 a141");
  CHECK(runs.count == 3);
  CHECK(runs.is_array_of(bit_of(Type::bytes) | bit_of(Type::text)));
  CHECK_FALSE(runs.is_array_of(bit_of(Type::bytes)));

  const MsgpackEntry shape = value_of("93 02 cd0100 00");
  CHECK(shape.is_array_of(bit_of(Type::integer)));
  CHECK(shape.integers == std::vector<std::int64_t>{2, 256, 0});

  CHECK(value_of("90").is_array_of(0));
  CHECK_FALSE(value_of("91 9100").is_array_of(bit_of(Type::integer)));
  CHECK_FALSE(value_of("c0").is_array_of(~0U));
}

TEST_CASE("msgpack map: names are text or bytes, and kept as they come") {
  const auto map = parse_hex("84 a16b 01 c4016b 02 a0 03 d9026c6d 04");

  REQUIRE(map.size() == 4);
  CHECK(map[0].name == "k");
  CHECK(map[1].name == "k");
  CHECK(map[2].name.empty());
  CHECK(map[3].name == "lm");
  CHECK(map[3].integer == 4);
  CHECK(parse_hex("80").empty());
}

TEST_CASE(
    "msgpack map: contents are stepped over, however large, and headers read 64 bytes at most") {
  const std::uint64_t huge = 0xffff'ffff;
  // {"a": bin of 4 GiB - 1, "b": 7}, of which only the headers exist.
  const auto head = unhex("82 a161 c6ffffffff"), tail = unhex("a162 07");
  std::uint64_t largest = 0;
  std::vector<std::byte> viewed;
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    largest = std::max(largest, length);
    viewed.assign(length, std::byte{0});
    for (std::uint64_t i = 0; i < length; ++i) {
      const std::uint64_t at = offset + i;
      if (at < head.size()) viewed[i] = head[at];
      if (at >= head.size() + huge) viewed[i] = tail[at - head.size() - huge];
    }
    return Bytes(viewed);
  };

  const auto map = parse_msgpack_map(view, 0, head.size() + huge + tail.size(), "file");

  REQUIRE(map.size() == 2);
  CHECK(map[0].length == huge);
  CHECK(map[1].name == "b");
  CHECK(map[1].integer == 7);
  CHECK(largest <= 64);
}

TEST_CASE("msgpack map: what is no whole map is refused with its place") {
  struct Row {
    std::string_view digits;
    Code code;
    std::uint64_t offset;
  };
  const Row rows[] = {
      {"", Code::damaged, 1000},
      {"81", Code::damaged, 1000},                  // an entry takes two bytes
      {"81 a161", Code::damaged, 1003},             // no value
      {"81 a161 a24a", Code::damaged, 1003},        // the value's length
      {"81 a261", Code::damaged, 1001},             // the name's length
      {"81 a161 cd01", Code::damaged, 1005},        // inside a number
      {"81 a161 c1", Code::damaged, 1003},          // never used
      {"81 a161 01 00", Code::damaged, 1004},       // left over
      {"81 a161 93 01 02", Code::damaged, 1003},    // elements
      {"dfffffffff a161 01", Code::damaged, 1000},  // entries
      {"81 a161 ddffffffff", Code::damaged, 1003},
      {"81 a161 dfffffffff", Code::damaged, 1003},
      {"92 01 02", Code::unsupported, 1000},
      {"a3 414243", Code::unsupported, 1000},
      {"81 01 02", Code::unsupported, 1001},  // the name is a number
      {"81 c0 02", Code::unsupported, 1001},
  };
  for (const Row& row : rows) {
    CAPTURE(row.digits);
    const Error error = error_of([&] { (void)parse_hex(row.digits); });
    CHECK(error.code() == row.code);
    CHECK(error.offset() == row.offset);
    CHECK(error.file() == "file");
  }
}

TEST_CASE("msgpack map: depth, entries and names have limits") {
  const auto nested = [](std::size_t depth) {
    std::string bytes(
        "\x81\xa1"
        "a",
        3);
    bytes.append(depth, '\x91');
    return bytes + '\x00';
  };
  CHECK(parse(as_bytes(nested(31))).size() == 1);
  CHECK(error_of([&] { (void)parse(as_bytes(nested(32))); }).code() == Code::limit);
  CHECK(error_of([&] { (void)parse(as_bytes(nested(1'000'000))); }).code() == Code::limit);

  std::string many("\xde\x20\x01", 3);
  for (int i = 0; i < 0x2001; ++i) many += std::string("\xa0\x00", 2);
  CHECK(error_of([&] { (void)parse(as_bytes(many)); }).code() == Code::limit);

  std::string long_name("\x81\xdb\x00\x01\x00\x01", 6);
  long_name.append(65'537, 'n');
  CHECK(error_of([&] { (void)parse(as_bytes(long_name + '\x00')); }).code() == Code::limit);
}

TEST_CASE("msgpack map: any change of a sound map is parsed or refused, inside its bytes") {
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  const auto sound = unhex(
      "85 a36b6579 c40161 a5696d616765 c50004 4a504547 a16c d3ffffffffffffffff a166 "
      "cb3ff8000000000000"
      "a174 83 a56474797065 a33c6634 a57368617065 92 02 03 a464617461 c402 4142");
  CHECK(parse(sound).size() == 5);
  for (int round = 0; round < 50'000; ++round) {
    std::vector<std::byte> changed = sound;
    for (unsigned i = 0; i < 1 + random() % 3; ++i)
      changed[random() % changed.size()] = static_cast<std::byte>(random());
    changed.resize(changed.size() - random() % 3);
    try {
      for (const MsgpackEntry& entry : parse(changed)) {
        REQUIRE(entry.offset >= 1000);
        REQUIRE(entry.length <= changed.size());
        REQUIRE(entry.offset + entry.length <= 1000 + changed.size());
      }
    } catch (const Error& error) {
      REQUIRE(error.code() != Code::bug);
    }
  }
}

}  // namespace
}  // namespace shale
