#include <string>

#include <doctest/doctest.h>

#include "shale/base/inflate.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

// Python 3.11: gzip.compress(b"shale " * 100, mtime=0), zlib.compress(b"shale " * 100).
constexpr std::string_view kGzip{
    "\037\213\010\000\000\000\000\000\002\003\053\316\110\314\111\125\050\036\045\107\111\252\222"
    "\000\213\170\277\312\130\002\000\000",
    32};
constexpr std::string_view kZlib{
    "\170\234\053\316\110\314\111\125\050\036\045\107\111\252\222\000\310\055\331\225", 20};

std::string beginning(Compression compression, std::string_view stream, std::size_t wanted) {
  std::string text(wanted, '?');
  text.resize(
      inflate_beginning(compression, as_bytes(stream), std::as_writable_bytes(std::span(text))));
  return text;
}

TEST_CASE("inflate: gives the first bytes of a stream, also from its beginning alone") {
  CHECK(beginning(Compression::gzip, kGzip, 12) == "shale shale ");
  CHECK(beginning(Compression::zlib, kZlib, 12) == "shale shale ");
  CHECK(beginning(Compression::zlib, kZlib, 1000).size() == 600);
  CHECK(beginning(Compression::gzip, kGzip.substr(0, kGzip.size() - 9), 6) == "shale ");
}

TEST_CASE("inflate: anything else gives nothing, and a stream may be cut anywhere") {
  CHECK(beginning(Compression::gzip, kZlib, 12).empty());
  CHECK(beginning(Compression::zlib, "no stream at all", 12).empty());
  for (std::size_t length = 0; length < kGzip.size(); ++length) {
    const std::string text = beginning(Compression::gzip, kGzip.substr(0, length), 12);
    CHECK(std::string_view("shale shale ").starts_with(text));
  }
}

// The raw deflate stream of a zlib one: without its 2 bytes in front and its 4 of checksum.
constexpr std::string_view kDeflate = kZlib.substr(2, kZlib.size() - 6);

std::string repeated_shale() {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "shale ";
  return text;
}

// Gives the stream in pieces, takes the text in pieces, and checks where the stream ends.
std::string inflated(std::string_view stream, std::size_t piece, std::size_t room) {
  Inflater inflater;
  std::string text;
  std::size_t at = 0;
  for (int calls = 0; calls < 10'000; ++calls) {
    std::string into(room, '?');
    const auto progress = inflater.inflate(as_bytes(stream.substr(at, piece)),
                                           std::as_writable_bytes(std::span(into)));
    at += progress.taken;
    text += into.substr(0, progress.given);
    if (progress.has_ended) {
      CHECK(inflater.stream_bytes() == kDeflate.size());
      return text;
    }
    if (progress.taken + progress.given == 0) return text + "...";
  }
  return "no end";
}

TEST_CASE("inflater: pieces of any size give the whole text and the stream's own length") {
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 100U}) {
    for (const std::size_t room : {1U, 5U, 64U, 600U, 5000U}) {
      CAPTURE(piece);
      CAPTURE(room);
      CHECK(inflated(kDeflate, piece, room) == repeated_shale());
      CHECK(inflated(std::string(kDeflate) + "PK\1\2 and what follows", piece, room) ==
            repeated_shale());
    }
  }
}

TEST_CASE("inflater: a stream that is cut ends without an end") {
  for (std::size_t length = 0; length < kDeflate.size(); ++length) {
    CAPTURE(length);
    const std::string text = inflated(kDeflate.substr(0, length), 4, 1000);
    CHECK(text.ends_with("..."));
    CHECK(repeated_shale().starts_with(text.substr(0, text.size() - 3)));
  }
}

TEST_CASE("inflater: what is no deflate stream is damaged") {
  for (const std::string_view stream : {"\xff\xff\xff\xff\xff\xff", "\x07no such block"}) {
    const Error error = test::error_of([&] { (void)inflated(stream, 100, 100); });
    CHECK(error.code() == Code::damaged);
  }
}

}  // namespace
}  // namespace shale
