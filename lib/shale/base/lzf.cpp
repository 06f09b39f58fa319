#include "shale/base/lzf.hpp"

#include <algorithm>

//  What LibLZF compressed is a sequence of
//    000LLLLL                    L + 1 bytes follow as they are
//    LLLOOOOO OOOOOOOO           L (1 to 6) + 2 bytes again, from O + 1 bytes before
//    111OOOOO LLLLLLLL OOOOOOOO  the same, L + 7 + 2 bytes

namespace shale {
namespace {

// Gives `each` what is written next: bytes as they are, or none, and `length` bytes again from
// `back` before. False: it is not LZF, or `each` does not go on.
template <typename Each>
bool walk_lzf(Bytes packed, Each each) {
  std::size_t at = 0, done = 0;
  const auto next = [&] { return std::to_integer<std::size_t>(packed[at++]); };
  while (at < packed.size()) {
    const std::size_t control = next();
    std::size_t length = control + 1, back = 0;
    Bytes run;
    if (control < 32) {
      if (length > packed.size() - at) return false;
      run = packed.subspan(at, length);
      at += length;
    } else {
      length = control >> 5;
      if (packed.size() - at < (length == 7 ? 2U : 1U)) return false;
      if (length == 7) length += next();
      length += 2;
      back = ((control & 31) << 8 | next()) + 1;
      if (back > done) return false;
    }
    if (!each(run, back, length)) return false;
    done += length;
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> unpacked_lzf_bytes(Bytes packed) {
  std::uint64_t bytes = 0;
  const bool is_lzf = walk_lzf(packed, [&](Bytes, std::size_t, std::size_t length) {
    bytes += length;
    return true;
  });
  return is_lzf ? std::optional(bytes) : std::nullopt;
}

std::size_t unpack_lzf(Bytes packed, std::span<std::byte> into) {
  std::size_t done = 0;
  const bool is_lzf = walk_lzf(packed, [&](Bytes run, std::size_t back, std::size_t length) {
    if (length > into.size() - done) return false;
    if (!run.empty()) {
      std::ranges::copy(run, into.begin() + static_cast<std::ptrdiff_t>(done));
      done += length;
      return true;
    }
    // Byte by byte: what is copied may be what was just written.
    for (; length > 0; --length, ++done) into[done] = into[done - back];
    return true;
  });
  return is_lzf ? done : 0;
}

}  // namespace shale
