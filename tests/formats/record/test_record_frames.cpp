#include <doctest/doctest.h>

#include "formats/record/record_frames.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::hex;

TEST_CASE("tfrecord frame: the header of 'hello' is the one TensorFlow writes") {
  CHECK(hex(frame_header(5)) == "0500000000000000eab2043e");  // reference/formats.md 3.1
}

TEST_CASE("tfrecord frame: a header that was written is read back and trusted") {
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    CAPTURE(length);
    const FrameHeader header = read_frame_header(frame_header(length));
    CHECK(header.payload_bytes == length);
    CHECK(header.is_trusted());
  }
}

TEST_CASE("tfrecord frame: a header with any one bit flipped is not trusted") {
  for (std::size_t bit = 0; bit < kFrameHeaderBytes * 8; ++bit) {
    CAPTURE(bit);
    auto bytes = frame_header(1234);
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    CHECK_FALSE(read_frame_header(bytes).is_trusted());
  }
}

}  // namespace
}  // namespace shale
