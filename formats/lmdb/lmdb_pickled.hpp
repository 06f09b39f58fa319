#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/data/shard_index.hpp"

#include "formats/lmdb/lmdb_layout_field.hpp"

// Values and lists of keys that Python pickled. Parsed by shale/wire/pickle_reader.hpp: nothing is
// imported or called.

namespace shale::lmdb {

/// As parse_layout_value, of the layouts whose values are pickles:
///   xunge       (bytes, int)
///   thecml      ([bytes], array([int])), or a list of one int
///   tensorpack  a list or tuple of fields
///   pickle      the same, or a dict of them by name
/// A field is bytes, a string, a number, or an array of NumPy: one of uint8 in one dimension is
/// bytes.
[[nodiscard]] std::vector<LayoutField> parse_pickled_value(Dialect layout, const ViewBytes& view,
                                                           std::uint64_t begin,
                                                           std::uint64_t length,
                                                           std::string_view where);

/// A pickled int. Errors: same as parse_pickled_value.
[[nodiscard]] std::int64_t parse_pickled_integer(const ViewBytes& view, std::uint64_t begin,
                                                 std::uint64_t length, std::string_view where);

/// Where one key of a list lies.
using UsePickledKey = std::function<void(std::uint64_t offset, std::uint64_t length)>;
/// A pickled list of bytes, of any length, as it goes by. Returns how many there are. Errors: same
/// as parse_pickled_value; what `use` throws.
std::uint64_t for_each_pickled_key(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                   std::string_view where, const UsePickledKey& use);

/// True for what begins and ends as a pickle of protocol 2 and above does.
[[nodiscard]] bool looks_pickled(const ViewBytes& view, std::uint64_t begin, std::uint64_t length);

}  // namespace shale::lmdb
