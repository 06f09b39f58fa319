#include <bit>
#include <limits>
#include <memory>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/wire/msgpack_sample.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::hex;
using test::unhex;

Schema schema_of_every_kind() {
  return {.fields = {{"b", Kind::bytes, {}, {}},
                     {"t", Kind::text, {}, {}},
                     {"i", Kind::integer, {}, {}},
                     {"r", Kind::real, {}, {}},
                     {"x", Kind::tensor, DType::parse("<u2"), {300, 1}},
                     {"l", Kind::list, {}, {}}}};
}

Sample sample_of_every_kind(std::string key, Bytes tensor) {
  return {.key = std::move(key),
          .values = {as_bytes("JPEG"), as_bytes("a cat"), std::int64_t{-3}, 0.5, tensor,
                     std::vector<Bytes>{as_bytes("one"), Bytes()}}};
}

std::string encoded_hex(const Sample& sample, const Schema& schema) {
  return hex(encode_msgpack_sample(sample, schema).map.flattened());
}

// The map of one field named "f" without what is the same for all: 82, "key", the key "", "f".
std::string value_hex(const Value& value, Kind kind) {
  const std::string text =
      encoded_hex({.key = "", .values = {value}}, {.fields = {{"f", kind, {}, {}}}});
  constexpr std::string_view kHead = "82a36b6579c400a166";
  CHECK(text.starts_with(kHead));
  return text.substr(kHead.size());
}

TEST_CASE("msgpack sample: a sample of every kind has the bytes that the specification says") {
  const std::string tensor(600, 'T');

  const std::string bytes =
      encoded_hex(sample_of_every_kind("k", as_bytes(tensor)), schema_of_every_kind());

  CHECK(bytes ==
        "87a36b6579c4016b"
        "a162c4044a504547"
        "a174a56120636174"
        "a169fd"
        "a172cb3fe0000000000000"
        "a17883a56474797065a33c7532a5736861706592cd012c01a464617461c50258" +
            hex(as_bytes(tensor)) + "a16c92c4036f6e65c400");
}

TEST_CASE("msgpack sample: integers take their shortest form") {
  struct Row {
    std::int64_t value;
    std::string_view bytes;
  };
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr Row kRows[] = {{0, "00"},
                           {127, "7f"},
                           {128, "cc80"},
                           {255, "ccff"},
                           {256, "cd0100"},
                           {65'535, "cdffff"},
                           {65'536, "ce00010000"},
                           {4'294'967'295, "ceffffffff"},
                           {4'294'967'296, "cf0000000100000000"},
                           {Limits::max(), "cf7fffffffffffffff"},
                           {-1, "ff"},
                           {-32, "e0"},
                           {-33, "d0df"},
                           {-128, "d080"},
                           {-129, "d1ff7f"},
                           {-32'768, "d18000"},
                           {-32'769, "d2ffff7fff"},
                           {-2'147'483'649, "d3ffffffff7fffffff"},
                           {Limits::min(), "d38000000000000000"}};
  for (const Row& row : kRows) {
    CAPTURE(row.value);
    CHECK(value_hex(row.value, Kind::integer) == row.bytes);
  }
}

TEST_CASE("msgpack sample: a real is a float of 64 bits to the bit, whole numbers too") {
  struct Row {
    double value;
    std::string_view bytes;
  };
  using Limits = std::numeric_limits<double>;
  const Row rows[] = {{0.0, "cb0000000000000000"},
                      {-0.0, "cb8000000000000000"},
                      {1.0, "cb3ff0000000000000"},
                      {-3.0, "cbc008000000000000"},
                      {0.1, "cb3fb999999999999a"},
                      {1e300, "cb7e37e43c8800759c"},
                      {Limits::infinity(), "cb7ff0000000000000"},
                      {-Limits::infinity(), "cbfff0000000000000"},
                      {Limits::denorm_min(), "cb0000000000000001"},
                      {std::bit_cast<double>(0xfff8'dead'beef'0001U), "cbfff8deadbeef0001"}};
  for (const Row& row : rows) {
    CAPTURE(row.value);
    CHECK(value_hex(row.value, Kind::real) == row.bytes);
  }
}

TEST_CASE("msgpack sample: headers of bin and str are the shortest that hold the length") {
  struct Row {
    std::uint64_t size;
    std::string_view bin, str;
  };
  constexpr Row kRows[] = {{0, "c400", "a0"},
                           {31, "c41f", "bf"},
                           {32, "c420", "d920"},
                           {255, "c4ff", "d9ff"},
                           {256, "c50100", "da0100"},
                           {65'535, "c5ffff", "daffff"},
                           {65'536, "c600010000", "db00010000"}};
  for (const Row& row : kRows) {
    CAPTURE(row.size);
    const std::string text(row.size, 'x'), content = hex(as_bytes(text));
    CHECK(value_hex(as_bytes(text), Kind::bytes) == std::string(row.bin) + content);
    CHECK(value_hex(as_bytes(text), Kind::text) == std::string(row.str) + content);
  }
}

TEST_CASE("msgpack sample: headers of lists and maps are the shortest that hold the count") {
  const auto list_head = [](std::size_t count) {
    return value_hex(std::vector<Bytes>(count), Kind::list).substr(0, 10);
  };
  CHECK(value_hex(std::vector<Bytes>(), Kind::list) == "90");
  CHECK(list_head(15) == "9fc400c400");
  CHECK(list_head(16) == "dc0010c400");
  CHECK(list_head(65'535) == "dcffffc400");
  CHECK(list_head(65'536) == "dd00010000");
  Schema schema;
  Sample sample;
  for (int i = 0; i < 15; ++i) {
    schema.fields.push_back({"f" + std::to_string(i), Kind::integer, {}, {}});
    sample.values.emplace_back(std::int64_t{i});
  }
  CHECK(encoded_hex(sample, schema).starts_with("de0010a36b6579"));
  schema.fields.pop_back();
  sample.values.pop_back();
  CHECK(encoded_hex(sample, schema).starts_with("8fa36b6579"));
}

TEST_CASE("msgpack sample: the row says where each value lies, and its checksum") {
  for (const std::size_t size : {0U, 1U, 255U, 256U, 257U, 1023U, 1024U, 5000U, 100'000U}) {
    CAPTURE(size);
    const std::string large(size, 'L'), tensor(600, 'T');
    Sample sample = sample_of_every_kind("cat/7.jpg", as_bytes(tensor));
    sample.values[0] = sample.values[1] = as_bytes(large);
    sample.values[5] = std::vector<Bytes>{as_bytes(large), Bytes(), as_bytes(large)};

    const MsgpackSample encoded = encode_msgpack_sample(sample, schema_of_every_kind());

    const auto map = encoded.map.flattened();
    const auto at = [&](const FieldPlace& place) {
      const Bytes bytes = Bytes(map).subspan(place.offset, place.length);
      CHECK(place.crc32c == crc32c(bytes));
      return as_text(bytes);
    };
    const auto& cells = encoded.row.cells;
    CHECK(at(encoded.row.key) == "cat/7.jpg");
    CHECK(encoded.row.key_hash == xxh3_64(as_bytes("cat/7.jpg")));
    CHECK(at(cells[0].place) == large);
    CHECK(at(cells[1].place) == large);
    CHECK(cells[2].integer == -3);
    CHECK(cells[3].real == 0.5);
    CHECK(at(cells[4].place) == tensor);
    CHECK(cells[5].place.count == 3);
    const std::vector<Bytes> elements = split_msgpack_list(as_bytes(at(cells[5].place)), 3);
    CHECK(as_text(elements[0]) == large);
    CHECK(elements[1].empty());
    CHECK(as_text(elements[2]) == large);
    CHECK(encoded.row.record_offset == 0);
    CHECK(encoded.row.record_length == map.size());
    CHECK(cells[5].place.offset + cells[5].place.length == map.size());
  }
}

TEST_CASE("msgpack sample: nothing of the sample but its payload is borrowed") {
  const Schema schema = schema_of_every_kind();
  const std::string tensor(600, 'T');
  auto sample =
      std::make_unique<Sample>(sample_of_every_kind(std::string(5000, 'k'), as_bytes(tensor)));
  const std::string expected = encoded_hex(*sample, schema);
  MsgpackSample encoded = encode_msgpack_sample(*sample, schema);
  sample.reset();
  const MsgpackSample moved = std::move(encoded);

  CHECK(hex(moved.map.flattened()) == expected);
}

TEST_CASE("msgpack sample: a value of 4 GiB is refused, naming field and sample") {
  // Never touched: the length alone is refused.
  const Bytes huge(reinterpret_cast<const std::byte*>("x"), std::size_t{1} << 32);
  struct Row {
    Kind kind;
    Value value;
  };
  const Row rows[] = {
      {Kind::bytes, huge}, {Kind::text, huge}, {Kind::list, std::vector<Bytes>{huge}}};
  for (const Row& row : rows) {
    const Schema schema{.fields = {{"mask", row.kind, {}, {}}}};
    const Sample sample{.key = "k", .values = {row.value}};
    const Error error = error_of([&] { (void)encode_msgpack_sample(sample, schema); });
    CHECK(error.code() == Code::limit);
    CHECK(error.sample()->key == "k");
    CHECK(error.message() ==
          "'mask' holds a value of 4294967296 bytes; msgpack holds at most 4294967295");
  }
}

TEST_CASE("msgpack list: arrays and elements with headers of every size are taken apart") {
  struct Row {
    std::string_view extent;
    std::uint32_t count;
    std::string_view joined;
  };
  constexpr Row kRows[] = {{"", 0, ""},
                           {"90", 0, ""},
                           {"92 c401 61 c402 6263", 2, "61/6263/"},
                           {"dc0001 c50001 61", 1, "61/"},
                           {"dd00000001 c600000002 6162", 1, "6162/"},
                           {"94 a0 a161 d90162 da000163", 4, "/61/62/63/"},
                           {"91 db00000001 61", 1, "61/"}};
  for (const Row& row : kRows) {
    CAPTURE(row.extent);
    const auto extent = unhex(row.extent);
    std::string joined;
    for (const Bytes element : split_msgpack_list(extent, row.count)) joined += hex(element) + "/";
    CHECK(joined == row.joined);
  }
}

TEST_CASE("msgpack list: an extent that is anything but one array of so many elements is damaged") {
  struct Row {
    std::string_view extent;
    std::uint32_t count;
  };
  constexpr Row kRows[] = {{"", 1},
                           {"91", 1},
                           {"91 c401", 1},
                           {"91 c400", 2},
                           {"92 c400 c400", 1},
                           {"91 c400 00", 1},
                           {"90 00", 0},
                           {"91 01", 1},
                           {"91 90", 1},
                           {"91 c0", 1},
                           {"c400", 0},
                           {"80", 0},
                           {"dc00", 0},
                           {"dd0000", 0},
                           {"91 c6ffffffff 61", 1},
                           {"91 c5ffff 61", 1},
                           {"91 c5ff", 1},
                           {"ddffffffff c400", 0xffff'ffff},
                           {"dcffff c400", 0xffff}};
  for (const Row& row : kRows) {
    CAPTURE(row.extent);
    CAPTURE(row.count);
    const auto extent = unhex(row.extent);
    CHECK(error_of([&] { (void)split_msgpack_list(extent, row.count); }).code() == Code::damaged);
  }
}

}  // namespace
}  // namespace shale
