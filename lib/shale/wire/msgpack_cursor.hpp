#pragma once

#include <cstdint>
#include <string_view>

#include "shale/base/view_bytes.hpp"

// MessagePack, as far as maps of samples need it; numbers are big-endian.
//   80..8f fixmap  90..9f fixarray  a0..bf fixstr  00..7f and e0..ff integers  c0 nil  c2 c3
//   booleans c4 c5 c6 bin  c7 c8 c9 ext  ca cb float32, float64  cc..cf unsigned  d0..d3 signed
//   d4..d8 fixext of 1 2 4 8 16  d9 da db str  dc dd array  de df map; c1 is never used.
// Writers before 2013 (msgpack-python with use_bin_type=False) had no bin: their bytes are str.
// Source: github.com/msgpack/msgpack, spec.md.

namespace shale {

enum class MsgpackType : std::uint8_t {
  nil,
  boolean,
  integer,
  large_integer,  ///< above 2^63 - 1
  real,
  text,   ///< str
  bytes,  ///< bin
  array,
  map,
  extension,
};
/// "a string", "a map": for messages.
[[nodiscard]] std::string_view name_of(MsgpackType type);

[[nodiscard]] constexpr std::uint32_t bit_of(MsgpackType type) {
  return std::uint32_t{1} << static_cast<unsigned>(type);
}

inline constexpr std::uint64_t kMaxMsgpackDepth = 32;  ///< arrays and maps inside each other

/// What precedes a value: its type, and the bytes or elements that follow. Offsets count
/// as those of the view do.
struct MsgpackHeader {
  MsgpackType type = MsgpackType::nil;
  std::uint64_t begin = 0;     ///< of the value
  std::uint64_t contents = 0;  ///< where they begin: behind type, length and number
  std::uint64_t length = 0;    ///< bytes of the contents; arrays and maps: elements, entries
  std::int64_t integer = 0;    ///< also 0 or 1 for a boolean
  double real = 0;

  /// Text or bytes: what has contents.
  [[nodiscard]] bool is_run() const {
    return type == MsgpackType::text || type == MsgpackType::bytes;
  }
  [[nodiscard]] bool is_container() const {
    return type == MsgpackType::array || type == MsgpackType::map;
  }
  /// Values that follow inside a container.
  [[nodiscard]] std::uint64_t inner_values() const {
    return type == MsgpackType::map ? 2 * length : length;
  }
};

/// Reads values one after the other, at most 64 bytes at a time; contents are stepped over.
class MsgpackCursor {
 public:
  /// Of the values in front of `end`. `view` and `where` are borrowed.
  MsgpackCursor(const ViewBytes& view, std::uint64_t end, std::string_view where)
      : view_(view), end_(end), where_(where) {}

  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// Lengths and counts of it fit in the bytes that are left. Errors: Code::damaged with `where`
  /// and the offset; what the view throws.
  [[nodiscard]] MsgpackHeader read(std::uint64_t offset);
  /// Where a value inside `depth` containers ends. Errors: as read; Code::limit for values nested
  /// deeper than kMaxMsgpackDepth.
  [[nodiscard]] std::uint64_t end_of(const MsgpackHeader& header, std::size_t depth = 0);
  /// Up to `wanted` bytes at `offset`; fewer only before the end. Valid until the next call.
  [[nodiscard]] Bytes peek(std::uint64_t offset, std::uint64_t wanted);

 private:
  [[nodiscard]] std::uint64_t skip_inside(const MsgpackHeader& outer, std::size_t depth);
  void read_tagged(std::uint8_t tag, ByteReader& in, MsgpackHeader& header);

  const ViewBytes& view_;
  std::uint64_t end_;
  std::string_view where_;
  Bytes seen_;  // what view_ gave last
  std::uint64_t seen_begin_ = 0;
};

}  // namespace shale
