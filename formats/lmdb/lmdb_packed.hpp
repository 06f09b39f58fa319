#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"

#include "formats/lmdb/lmdb_layout_field.hpp"

// Values that msgpack packed, with msgpack_numpy: tensorpack's with TENSORPACK_SERIALIZE=msgpack.
//   [field, ...]   bin, str, int, bool, float, or a map of NumPy's:
//   {"nd": true, "type": "<f4", "kind": "", "shape": [3, 4], "data": bin}   an array; "kind" since
//   0.4.2
//   {"nd": false, "type": "<f4", "data": bin}                               a number
// Names are bin, str with older writers. Source: msgpack_numpy.py, encode(), of msgpack-numpy
// 0.4.8.

namespace shale::lmdb {

/// True for what begins as a msgpack list; no pickle of protocol 2 and above does.
[[nodiscard]] bool looks_packed(const ViewBytes& view, std::uint64_t begin, std::uint64_t length);

/// The fields of a value, named as those of a pickled list are.
/// Errors: Code::damaged, Code::unsupported and Code::limit, with the offset; what the view throws.
[[nodiscard]] std::vector<LayoutField> parse_packed_value(const StoredValue& value);

}  // namespace shale::lmdb
