#pragma once

#include <cstdint>
#include <vector>

#include "shale/base/blob.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/sample.hpp"
#include "shale/data/shard_index.hpp"

// One sample as one msgpack map. Its entries, in this order, each in its shortest form:
//   "key"     bin       the key's raw bytes
//   <field>   one entry per field, in schema order:
//     bytes   bin
//     text    str
//     integer int
//     real    float 64
//     list    array of bin; of text: of str
//     tensor  map  "dtype": str   NumPy's dtype string, "<f4"
//                  "shape": array of int, a side each
//                  "data":  bin   the elements in C order, little-endian
//     ragged tensor   as msgpack-numpy packs an array: map of bin names
//                  "nd": true, "type": str, "kind": bin of length 0, "shape": array of int, "data":
//                  bin
// A value that is absent has no entry.
// The names of entries are str. msgpack is big-endian.
// Source: github.com/msgpack/msgpack/blob/master/spec.md; written by msgpack-cxx.

namespace shale {

/// The longest value, element or name that msgpack can hold; its lengths have 32 bits.
inline constexpr std::uint64_t kMaxMsgpackBytes = 0xffff'ffff;

/// An encoded sample. Places in the row count from the map's first byte: of bytes, text and tensor
/// the contents alone, without msgpack's header; of a list all of the array, from its header to the
/// end of its last element. The record is the map.
struct MsgpackSample {
  Blob map;  ///< borrows the values' bytes from the sample, nothing else
  IndexRow row;
};

/// The sample must fit the schema (check_sample). Thread-safe.
/// Errors: Code::limit, naming field and sample, for a key, value or element longer than
/// kMaxMsgpackBytes, and a list of more elements than that.
[[nodiscard]] MsgpackSample encode_msgpack_sample(const Sample& sample, const Schema& schema);

/// Where the elements of a list lie; the view holds one array of bin and str at the list's place,
/// which says how many. Errors: Code::damaged.
[[nodiscard]] std::vector<FieldPlace> walk_msgpack_list(const ViewBytes& view,
                                                        const FieldPlace& list);

/// The elements of a list's extent; str counts as bin, because older writers use it. An
/// empty extent has no elements: the list is absent. The result borrows from `extent`.
/// Errors: Code::damaged if the extent is anything but one array of exactly `count` elements.
[[nodiscard]] std::vector<Bytes> split_msgpack_list(Bytes extent, std::uint32_t count);

}  // namespace shale
