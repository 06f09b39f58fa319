#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/data/shard_index.hpp"

namespace shale::lmdb {

// Caffe's message for one image (caffe.proto, proto2):
//   1 channels  2 height  3 width  5 label: int32   4 data: bytes   6 float_data: repeated float
//   7 encoded: bool, `data` is a compressed image; else it has the pixels, uint8 (C, H, W), BGR
struct Datum {
  std::vector<std::uint64_t> shape;  ///< (channels, height, width); empty: `data` is encoded
  FieldPlace data;
  std::int64_t label = 0;
};

/// Errors: Code::damaged for what is not a message; Code::unsupported, by name, for other fields,
/// float_data, fields that come twice, pixels of another size than the shape says; what `view`
/// throws.
[[nodiscard]] Datum parse_datum(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                std::string_view where);

}  // namespace shale::lmdb
