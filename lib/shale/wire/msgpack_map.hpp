#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/wire/view_bytes.hpp"

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

/// One entry of a map: where its value lies, and its number.
struct MsgpackEntry {
  std::string name;
  MsgpackType type = MsgpackType::nil;
  /// Of text and bytes the contents, of everything else the whole value with its header. Offsets
  /// count as those of `view` do.
  std::uint64_t offset = 0, length = 0;
  std::uint64_t value_offset = 0;  ///< where the value with its header begins
  std::uint32_t count = 0;         ///< elements of an array, entries of a map
  /// The types of an array's elements, a bit 1 << type each.
  std::uint32_t element_types = 0;
  std::vector<std::int64_t> integers;  ///< the first 64 elements of an array of integers
  std::int64_t integer = 0;            ///< also 0 or 1 for a boolean
  double real = 0;

  /// Text or bytes: what has contents.
  [[nodiscard]] bool is_run() const;
  /// An array whose elements are all of the given types (bits as in element_types).
  [[nodiscard]] bool is_array_of(std::uint32_t types) const;
};

[[nodiscard]] constexpr std::uint32_t bit_of(MsgpackType type) {
  return std::uint32_t{1} << static_cast<unsigned>(type);
}

/// What parse_msgpack_map takes at most: it bounds the memory that a hostile map can ask for.
inline constexpr std::uint64_t kMaxMapEntries = 8'192, kMaxMapNameBytes = 65'536;
inline constexpr std::uint64_t kMaxMapNamesBytes = 1 << 20;  ///< of all names together
inline constexpr std::uint64_t kMaxMsgpackDepth = 32;        ///< arrays and maps inside each other

/// Parses the map that fills [begin, begin + length): names are text or bytes, any encoding of a
/// number goes, repeated names are kept as they come, nested maps and arrays are checked to their
/// ends. Looks at headers, names and numbers, at most 64 bytes at a time (a name: its length):
/// contents are stepped over. Memory: 8 MiB at most. Time: linear in the bytes that are not
/// contents. Errors: Code::damaged with `where` and the offset (also for bytes left over);
/// Code::limit beyond the limits above; Code::unsupported for anything but a map, and for a name
/// that is neither text nor bytes; what `view` throws.
[[nodiscard]] std::vector<MsgpackEntry> parse_msgpack_map(const ViewBytes& view,
                                                          std::uint64_t begin, std::uint64_t length,
                                                          std::string_view where);

}  // namespace shale
