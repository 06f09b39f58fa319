#include <doctest/doctest.h>

#include "shale/base/deflate.hpp"
#include "shale/base/inflate.hpp"

namespace shale {
namespace {

std::string deflated(const std::string& text, std::size_t piece) {
  std::string stream;
  const auto use = [&](Bytes bytes) { stream += as_text(bytes); };
  Deflater deflater;
  for (std::size_t at = 0; at < text.size(); at += piece)
    deflater.deflate(as_bytes(text).subspan(at, std::min(piece, text.size() - at)), use);
  deflater.finish(use);
  return stream;
}

TEST_CASE("deflate: isa-l inflates what zlib has deflated, in whatever pieces it came") {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i * 7919 % 1000);
  const std::string stream = deflated(text, text.size());
  CHECK(stream.size() < text.size());
  CHECK(stream == deflated(text, 1000));
  std::string back(text.size(), '\0');
  const Inflater::Progress progress =
      Inflater().inflate(as_bytes(stream), std::as_writable_bytes(std::span(back)));
  CHECK(progress.given == text.size());
  CHECK(back == text);
}

TEST_CASE("deflate: nothing is a stream, too") {
  CHECK(deflated("", 1) == std::string("\x03\0", 2));
}

}  // namespace
}  // namespace shale
