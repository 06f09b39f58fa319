#pragma once

#include "shale/format/format.hpp"

namespace shale {

inline constexpr ReaderCode kHdf5Reader = {.library = "h5py", .code = R"(import h5py

f = h5py.File({{file}})
{{#is_extent}}begin, end = f[{{field|python:_offset}}][0:2]  # sample 0
value = f[{{field|python}}][begin:end].tobytes()
{{/is_extent}}{{#is_row}}value = f[{{field|python}}][0]
{{/is_row}}{{#is_elsewhere}}f.visititems(print)
{{/is_elsewhere}}{{#own_label}}label = int(f[{{own_label|python}}][0])
{{/own_label}})"};

}  // namespace shale
