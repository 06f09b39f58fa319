#include <limits>

#include <doctest/doctest.h>

#include "shale/base/bytes.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {

using test::error_of;

TEST_CASE("byte reader: integers come back little-endian, and big-endian where asked") {
  ByteReader in(as_bytes(std::string_view("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", 10)));
  CHECK(in.read_u8() == 0x01);
  CHECK(in.read_u16() == 0x0302);
  CHECK(in.read_u16_be() == 0x0405);
  CHECK(in.read_u32_be() == 0x06070809);
  CHECK(in.remaining() == 1);
  CHECK(in.offset() == 9);
}

TEST_CASE("byte writer: what it writes, the reader reads") {
  ByteWriter out;
  out.write(std::uint8_t{200});
  out.write(std::uint32_t{0xdeadbeef});
  out.write(std::int64_t{-5});
  out.write(-0.5);
  out.write_text("abc");
  CHECK(out.size() == 24);

  ByteReader in(out.bytes());
  CHECK(in.read_u8() == 200);
  CHECK(in.read_u32() == 0xdeadbeef);
  CHECK(in.read_i64() == -5);
  CHECK(in.read_f64() == -0.5);
  CHECK(as_text(in.read_bytes(3)) == "abc");
  CHECK(in.at_end());
}

TEST_CASE("byte reader: a read past the end names file, byte and both numbers") {
  ByteReader in(as_bytes("12345"), "a.lmdb", 4096);
  in.skip(2);

  const Error error = error_of([&] { (void)in.read_u64(); });

  CHECK(error.code() == Code::damaged);
  CHECK(error.what() == std::string("a.lmdb: byte 4098: 8 bytes needed, only 3 left"));
  CHECK(in.remaining() == 3);
}

TEST_CASE("byte reader: a length near 2^64 is refused, not added up") {
  ByteReader in(as_bytes("12345"));
  in.skip(1);
  CHECK(error_of([&] { in.skip(std::numeric_limits<std::uint64_t>::max()); }).code() ==
        Code::damaged);
}

TEST_CASE("varint: the smallest and the largest number of every length come back") {
  for (unsigned bits = 1; bits <= 64; ++bits) {
    const std::uint64_t smallest = std::uint64_t{1} << (bits - 1);
    for (const std::uint64_t value : {smallest, smallest | (smallest - 1)}) {
      CAPTURE(value);
      ByteWriter out;
      out.write_varint(value);
      CHECK(out.size() == (bits + 6) / 7);
      ByteReader in(out.bytes());
      CHECK(in.read_varint() == value);
      CHECK(in.at_end());
    }
  }
}

TEST_CASE("varint: the example of the protobuf encoding guide is 150") {
  ByteReader in(as_bytes("\x96\x01"));
  CHECK(in.read_varint() == 150);
}

TEST_CASE("varint: more than 64 bits and a cut one are damage at its first byte") {
  constexpr std::string_view kTexts[] = {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
  for (const std::string_view text : kTexts) {
    ByteReader in(as_bytes(text), "f", 10);
    const Error error = error_of([&] { (void)in.read_varint(); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.offset() == 10);
  }
  ByteReader cut(as_bytes("\xff\xff"));
  CHECK(error_of([&] { (void)cut.read_varint(); }).code() == Code::damaged);
}

TEST_CASE("big-endian: numbers come back, and their bytes sort as they do") {
  std::string small, large, narrow;
  append_big_endian(small, std::uint64_t{255});
  append_big_endian(large, std::uint64_t{256});
  append_big_endian(narrow, std::uint32_t{0x01020304});

  CHECK(small < large);
  CHECK(small.size() == 8);
  CHECK(narrow == std::string("\x01\x02\x03\x04"));
  CHECK(read_big_endian(large) == 256);
  CHECK(read_big_endian(narrow) == 0x01020304);
  std::string negative;
  append_big_endian(negative, std::int64_t{-2});
  CHECK(static_cast<std::int64_t>(read_big_endian(negative)) == -2);
}

}  // namespace shale
