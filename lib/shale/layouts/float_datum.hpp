#pragma once

#include <string>

#include "shale/base/bytes.hpp"

// Messages of Caffe (Datum, caffe.proto) that hold their pixels as float_data, number by number:
// they do not lie in a row.

namespace shale::layouts {

/// By its first bytes, as protobuf writes them: sides, perhaps a label, then float_data.
[[nodiscard]] bool begins_like_float_datum(Bytes head);

/// As a msgpack map: `image`, float32 (channels, height, width), and `label`. Errors:
/// Code::unsupported for any other Datum, and for other numbers than its sides say.
[[nodiscard]] std::string pack_float_datum(Bytes value);

}  // namespace shale::layouts
