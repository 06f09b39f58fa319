#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>

#include "shale/base/checksum.hpp"

namespace shale {
namespace {

// Byte i is the highest of the 32 bits of i * 2654435761: no period that a block-wise hash could
// hide behind.
std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(static_cast<std::uint32_t>(i) * 2654435761U >> 24);
  }
  return bytes;
}

// Lengths on both sides of every branch of XXH3. Generated with Python crc32c 2.9 and xxhash 4.1.0
// (xxHash 0.8.4).
struct Vector {
  std::size_t size;
  std::uint32_t crc32c;
  std::uint64_t xxh3_64;
  std::string_view xxh3_128;
};
constexpr Vector kVectors[] = {
    {0, 0x00000000, 0x2d06800538d394c2, "99aa06d3014798d86001c324468d497f"},
    {1, 0x527d5351, 0xc44bdff4074eecdb, "a6cd5e9392000f6ac44bdff4074eecdb"},
    {3, 0x2d19bce9, 0xe14090f554a5ea90, "977fcbc0448b49f6e14090f554a5ea90"},
    {4, 0x71e3f0a8, 0x2e8d078a566e9749, "4e82b36688c5328f4ee6926f0426173e"},
    {8, 0xe9689c5b, 0xcd1c7f88482fcaef, "7b4966a681f18d5779d85adaeefd615e"},
    {9, 0x9b3da653, 0xbfe43def699fa9e3, "200d098a7113e15fee5940d4df4715ae"},
    {16, 0x62eb74d9, 0x81e9eb8634460bb9, "78e8ab538d3acaab37286a19cf622308"},
    {17, 0x091ed9ac, 0x9998430fd0a655be, "1ea709ada2b9c32e33bed349ec1c0ce7"},
    {128, 0xa82570b4, 0x75eca5c5d5594884, "5ac741c59c95d36ae1f0636051ccd2be"},
    {129, 0xae8dffa3, 0xa05da42e7a4e4667, "1240f4d960139642cfb3fed667226458"},
    {240, 0xf542c9d9, 0x5eb2467c8c9e3969, "640a6149838a7599b2e6947c477a4ab0"},
    {241, 0x6f566633, 0x2d431e984c441f15, "e817e20e53e42a8c2d431e984c441f15"},
    {512, 0x76a0874a, 0xdcfed6ee2883acd0, "f67f00b2ac0ea3cddcfed6ee2883acd0"},
    {1024, 0x51fffc98, 0xe99def1145f12936, "df4c8b9ff9715101e99def1145f12936"},
    {1025, 0x26a6a50d, 0x83cba9b371e4e7f4, "63e845aab7eb695f83cba9b371e4e7f4"},
    {65537, 0xd551b0a5, 0xcab0f544da7981e1, "34ef5ec6349a8582cab0f544da7981e1"},
    {1048576, 0x55402e97, 0xa60868b9a5018405, "7e34237c007b503ea60868b9a5018405"}};

TEST_CASE("checksum: crc32 is that of zip and gzip, also in pieces") {
  CHECK(crc32({}) == 0);
  CHECK(crc32(as_bytes("123456789")) == 0xcbf43926);
  CHECK(crc32(as_bytes("56789"), crc32(as_bytes("1234"))) == 0xcbf43926);
  // Python 3.11: zlib.crc32(b"shale " * 100)
  std::string text;
  for (int i = 0; i < 100; ++i) text += "shale ";
  CHECK(crc32(as_bytes(text)) == 0xcabf788b);
}

}  // namespace

TEST_CASE("crc32c: the published vectors hold") {
  // RFC 3720 appendix B.4, and the check value of the CRC catalogue.
  struct Row {
    std::string bytes;
    std::uint32_t crc;
  };
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  const Row rows[] = {{"123456789", 0xe3069283},
                      {std::string(32, '\0'), 0x8a9136aa},
                      {std::string(32, '\xff'), 0x62a8ab43},
                      {rising, 0x46dd794e},
                      {std::string(rising.rbegin(), rising.rend()), 0x113fdb5c}};
  for (const Row& row : rows) {
    CAPTURE(row.crc);
    CHECK(crc32c(as_bytes(row.bytes)) == row.crc);
  }
}

TEST_CASE("checksums: every length gives what the reference libraries give") {
  for (const Vector& vector : kVectors) {
    CAPTURE(vector.size);
    const std::vector<std::byte> bytes = pattern(vector.size);
    CHECK(crc32c(bytes) == vector.crc32c);
    CHECK(xxh3_64(bytes) == vector.xxh3_64);
    CHECK(xxh3_128(bytes).hex() == vector.xxh3_128);
  }
}

TEST_CASE("crc32c: a seed continues a run, cut anywhere") {
  const std::vector<std::byte> bytes = pattern(257);
  const Bytes whole = bytes;
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    CAPTURE(cut);
    CHECK(crc32c(whole.subspan(cut), crc32c(whole.first(cut))) == crc32c(whole));
  }
}

TEST_CASE("crc32c: combining two runs equals reading both, cut anywhere") {
  const std::vector<std::byte> bytes = pattern(70'000);
  const Bytes whole = bytes;
  for (std::size_t cut = 0; cut <= whole.size(); cut += cut < 300 ? 1 : 997) {
    CAPTURE(cut);
    const Bytes first = whole.first(cut), second = whole.subspan(cut);
    CHECK(crc32c_combine(crc32c(first), crc32c(second), second.size()) == crc32c(whole));
  }
}

TEST_CASE("crc32c: combining works for lengths that no memory holds") {
  // Joining (2^k zeros) with themselves 50 times, against one join per length: associativity pins
  // down every digit.
  const std::byte zero{0};
  std::uint32_t zeros = crc32c({&zero, 1});
  for (unsigned k = 0; k < 63; ++k) {
    CAPTURE(k);
    const std::uint64_t length = std::uint64_t{1} << k;
    const std::uint32_t twice = crc32c_combine(zeros, zeros, length);
    const std::uint32_t by_small = crc32c_combine(crc32c_combine(7, zeros, length), zeros, length);
    CHECK(crc32c_combine(7, twice, 2 * length) == by_small);
    zeros = twice;
  }
}

TEST_CASE("crc32c: more bytes than 32 bits count are read to the end") {
  // isa-l takes the length as int. Untouched memory reads as zeros and costs no room but its page
  // table.
  constexpr std::uint64_t kZeros = std::uint64_t{1} << 32;
  void* zeros =
      ::mmap(nullptr, kZeros + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(zeros != MAP_FAILED);
  const std::uint32_t of_one = crc32c({static_cast<const std::byte*>(zeros), 1});
  std::uint32_t expected = of_one;
  for (std::uint64_t length = 1; length < kZeros; length *= 2) {
    expected = crc32c_combine(expected, expected, length);
  }

  CHECK(crc32c({static_cast<const std::byte*>(zeros), kZeros + 1}) ==
        crc32c_combine(expected, of_one, 1));
  ::munmap(zeros, kZeros + 1);
}

TEST_CASE("hasher128: pieces of any size give the hash of the whole") {
  const std::vector<std::byte> bytes = pattern(65'537);
  for (const std::size_t piece : {1U, 7U, 64U, 255U, 256U, 257U, 1024U, 65'536U, 65'537U}) {
    CAPTURE(piece);
    Hasher128 hasher;
    for (Bytes rest = bytes; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size()))) {
      hasher.update(rest.first(std::min(piece, rest.size())));
    }
    CHECK(hasher.digest() == xxh3_128(bytes));
  }
}

TEST_CASE("hasher128: a digest in between does not disturb, a reset forgets") {
  const std::vector<std::byte> bytes = pattern(2000);
  Hasher128 hasher;
  hasher.update(Bytes(bytes).first(999));
  CHECK(hasher.digest() == xxh3_128(Bytes(bytes).first(999)));
  hasher.update(Bytes(bytes).subspan(999));
  CHECK(hasher.digest() == xxh3_128(bytes));

  hasher.reset();
  CHECK(hasher.digest() == xxh3_128({}));
}

TEST_CASE("hash128: text and bytes are big-endian and come back") {
  const Hash128 hash{0x0123456789abcdef, 0x00000000000000ff};
  CHECK(hash.hex() == "0123456789abcdef00000000000000ff");
  CHECK(hash.bytes()[0] == std::byte{0x01});
  CHECK(hash.bytes()[15] == std::byte{0xff});
  CHECK(Hash128::from_hex(hash.hex()) == hash);
  CHECK(Hash128::from_bytes(hash.bytes()) == hash);
}

TEST_CASE("hash128: anything but 32 lower-case digits is no hash") {
  constexpr std::string_view kTexts[] = {"",
                                         "0123456789abcdef00000000000000f",
                                         "0123456789abcdef00000000000000fff",
                                         "0123456789ABCDEF00000000000000ff",
                                         "0x23456789abcdef00000000000000ff",
                                         "0123456789abcdeg00000000000000ff",
                                         " 123456789abcdef00000000000000ff"};
  for (const std::string_view text : kTexts) {
    CAPTURE(text);
    CHECK_FALSE(Hash128::from_hex(text));
  }
}

}  // namespace shale
