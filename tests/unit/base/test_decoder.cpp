#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <lz4.h>
#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include "shale/base/decoder.hpp"
#include "shale/base/error.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;

std::string gzipped(const std::string& text) {
  z_stream zlib = {};
  REQUIRE(deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&zlib, text.size()) + 64, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(::deflate(&zlib, Z_FINISH) == Z_STREAM_END);
  packed.resize(packed.size() - zlib.avail_out);
  deflateEnd(&zlib);
  return packed;
}

// With the checksum that zstd's own program writes.
std::string zstandard(const std::string& text, int window_log = 0) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  if (window_log > 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string packed(ZSTD_compressBound(text.size()) + 64, '\0');
  // As a stream, whose size is not known beforehand: the header then has the window.
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  if (window_log > 0) (void)ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
  REQUIRE(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0);
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return packed;
}

// With the checksum of its content, which python-lz4 leaves out.
std::string lz4_frame(const std::string& text) {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string packed(LZ4F_compressFrameBound(text.size(), &preferences), '\0');
  const std::size_t bytes =
      LZ4F_compressFrame(packed.data(), packed.size(), text.data(), text.size(), &preferences);
  REQUIRE(LZ4F_isError(bytes) == 0);
  packed.resize(bytes);
  return packed;
}

std::string decoded(Packing packing, const std::string& packed, std::size_t piece = 1 << 20,
                    std::size_t room = 1 << 20, std::uint64_t window = 1 << 20) {
  Decoder decoder(packing, window);
  std::string text;
  std::vector<std::byte> into(room);
  for (std::size_t at = 0;;) {
    const auto progress =
        decoder.decode(as_bytes(packed).subspan(at, std::min(piece, packed.size() - at)), into);
    at += progress.taken;
    text += as_text(Bytes(into).first(progress.given));
    if (progress.taken == 0 && progress.given == 0 && at == packed.size()) break;
  }
  if (!decoder.may_end()) text += " [ends early]";
  return text;
}

std::string packed_by(Packing packing, const std::string& text) {
  if (packing == Packing::lz4) return lz4_frame(text);
  return packing == Packing::gzip ? gzipped(text) : zstandard(text);
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * i) + " ";
  return text;
}

TEST_CASE("decoder: what was compressed comes back, in whatever pieces it is given and taken") {
  const std::string text = some_text();
  CHECK(decoded(Packing::none, text, 100, 30) == text);
  for (const Packing packing : {Packing::gzip, Packing::zstd, Packing::lz4}) {
    CAPTURE(name_of(packing));
    const std::string packed = packed_by(packing, text);
    for (const std::size_t piece : {1U, 7U, 1000U, 100'000U}) {
      for (const std::size_t room : {1U, 13U, 100'000U})
        CHECK(decoded(packing, packed, piece, room) == text);
    }
  }
}

TEST_CASE(
    "decoder: members and frames that follow each other are one stream, zeros behind them "
    "padding") {
  for (const Packing packing : {Packing::gzip, Packing::zstd, Packing::lz4}) {
    CAPTURE(name_of(packing));
    const std::string packed =
        packed_by(packing, "first") + packed_by(packing, "") + packed_by(packing, "second");
    for (const std::size_t piece : {1U, 5U, 1000U}) {
      CHECK(decoded(packing, packed, piece) == "firstsecond");
      CHECK(decoded(packing, packed + std::string(600, '\0'), piece) == "firstsecond");
    }
    const Error garbage =
        error_of([&] { (void)decoded(packing, packed + std::string(9, '\0') + "x"); });
    CHECK(garbage.code() == Code::damaged);
    CHECK(error_of([&] { (void)decoded(packing, packed + "garbage"); }).code() == Code::damaged);
  }
}

TEST_CASE("decoder: a stream that is truncated anywhere is not at its end") {
  const std::string text = some_text().substr(0, 200);
  for (const Packing packing : {Packing::gzip, Packing::zstd, Packing::lz4}) {
    CAPTURE(name_of(packing));
    const std::string packed = packed_by(packing, text);
    for (std::size_t end = 1; end < packed.size(); ++end) {
      CAPTURE(end);
      CHECK(decoded(packing, packed.substr(0, end)).ends_with(" [ends early]"));
    }
  }
}

TEST_CASE("decoder: blocks of LZ4 come back whole, within what they may take, or not at all") {
  // lz4.block.compress(b"shale " * 40) of python-lz4 4.4.5
  const std::string_view block("\xf0\x00\x00\x00oshale \x06\x00\xd2Phale ", 20);
  std::string expected;
  for (int i = 0; i < 40; ++i) expected += "shale ";
  const auto content = unpack_lz4_block(as_bytes(block), 1 << 20);
  REQUIRE(content);
  CHECK(as_text(*content) == expected);
  CHECK(!unpack_lz4_block(as_bytes(block), 239));
  for (std::size_t end = 0; end < block.size(); ++end)
    CHECK(!unpack_lz4_block(as_bytes(block.substr(0, end)), 1 << 20));
  std::string other(block);
  other[0] = '\xef';
  CHECK(!unpack_lz4_block(as_bytes(other), 1 << 20));
  // 4 GiB that 16 bytes cannot hold.
  other.replace(0, 4, "\xff\xff\xff\xff");
  CHECK(!unpack_lz4_block(as_bytes(other), ~std::uint64_t{0}));
}

TEST_CASE("decoder: no flipped bit of what is checksummed gives other bytes") {
  const std::string text = some_text().substr(0, 100);
  for (const Packing packing : {Packing::gzip, Packing::zstd, Packing::lz4}) {
    CAPTURE(name_of(packing));
    const std::string packed = packed_by(packing, text);
    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      std::string flipped = packed;
      flipped[bit / 8] =
          static_cast<char>(static_cast<unsigned>(flipped[bit / 8]) ^ (1U << bit % 8));
      std::string found;
      try {
        found = decoded(packing, flipped);
      } catch (const Error& error) {
        CHECK(error.code() != Code::bug);
        continue;
      }
      CAPTURE(bit);
      // Flags, time and system in the header of gzip say nothing of the data.
      CHECK((found == text || found.ends_with(" [ends early]")));
    }
  }
}

TEST_CASE("decoder: a zstd window is read from the header, and more than is allowed is refused") {
  const std::string text(3 << 20, 'x');
  const std::string packed = zstandard(text, 21);
  CHECK(zstd_window_of(as_bytes(packed)) == 2 << 20);
  CHECK(zstd_window_of(as_bytes(zstandard("one segment"))) == 11);
  const std::string skippable(
      "\x50\x2a\x4d\x18\x03\x00\x00\x00"
      "abc",
      11);
  CHECK(zstd_window_of(as_bytes(skippable + packed)) == 2 << 20);
  CHECK(zstd_window_of(as_bytes(packed.substr(0, 5))) == 0);
  CHECK(zstd_window_of(as_bytes(skippable)) == 0);
  CHECK(decoded(Packing::zstd, skippable + packed, 1 << 20, 1 << 20, 2 << 20) == text);
  const Error error = error_of([&] { (void)decoded(Packing::zstd, packed); });
  CHECK(error.code() == Code::limit);
  CHECK(error.message().find("1 MiB") != std::string::npos);
}

}  // namespace
}  // namespace shale
