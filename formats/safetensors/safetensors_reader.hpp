#pragma once

#include "shale/format/format.hpp"

namespace shale {

// NumPy has no bfloat16 and no float8: shale has them as structures.
inline constexpr ReaderCode kSafetensorsReader = {.library = "safetensors",
                                                  .code = R"(from safetensors import safe_open

with safe_open({{file}}, framework="{{#is_of_numpy}}numpy{{/is_of_numpy}}{{^is_of_numpy}}pt{{/is_of_numpy}}") as file:
    values = file.get_slice({{field|python}})
{{#has_samples}}    value = values[0]
{{/has_samples}})"};

}  // namespace shale
