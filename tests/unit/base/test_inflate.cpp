#include <string>

#include <doctest/doctest.h>

#include "shale/base/inflate.hpp"

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

}  // namespace
}  // namespace shale
