#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/inflate.hpp"
#include "shale/base/lzf.hpp"

namespace {

// In pieces of `step` bytes, into room of as many: what it says that it took and gave is possible,
// and it never stands still.
void inflate_all(shale::Bytes stream, std::size_t step) {
  constexpr std::uint64_t kMost = 1 << 20;
  std::vector<std::byte> room(step);
  shale::Inflater inflater;
  std::uint64_t given = 0;
  for (shale::Inflater::Progress last; given < kMost && !last.has_ended;) {
    const shale::Bytes piece = stream.first(std::min(step, stream.size()));
    last = inflater.inflate(piece, room);
    if (last.taken > piece.size() || last.given > room.size()) __builtin_trap();
    stream = stream.subspan(last.taken);
    given += last.given;
    if (last.taken == 0 && last.given == 0) return;
  }
}

}  // namespace

// Any bytes are a deflate stream, the beginning of a gzip or zlib one, and what LibLZF compressed.
// What is decompressed has as many bytes as were counted.
void unpack_lzf_of(shale::Bytes bytes) {
  std::vector<std::byte> room(1 << 16);
  const std::size_t unpacked = shale::unpack_lzf(bytes, room);
  if (unpacked > 0 && shale::unpacked_lzf_bytes(bytes) != unpacked) __builtin_trap();
}

extern "C" int fuzz_inflate(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  std::vector<std::byte> beginning(300);
  for (const auto compression : {shale::Compression::gzip, shale::Compression::zlib}) {
    if (shale::inflate_beginning(compression, bytes, beginning) > beginning.size())
      __builtin_trap();
  }
  (void)shale::inflated_zlib_bytes(bytes);
  unpack_lzf_of(bytes);
  for (const std::size_t step : {std::size_t{7}, std::size_t{4096}}) {
    try {
      inflate_all(bytes, step);
    } catch (const shale::Error& error) {
      if (error.code() != shale::Code::damaged) __builtin_trap();
    }
  }
  return 0;
}
