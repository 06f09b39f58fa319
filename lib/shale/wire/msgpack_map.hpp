#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/wire/msgpack_cursor.hpp"

namespace shale {

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

/// What parse_msgpack_map takes at most: it bounds the memory that a hostile map can ask for.
inline constexpr std::uint64_t kMaxMapEntries = 8'192, kMaxMapNameBytes = 65'536;
inline constexpr std::uint64_t kMaxMapNamesBytes = 1 << 20;  ///< of all names together

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
