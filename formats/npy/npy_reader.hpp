#pragma once

#include "shale/format/format.hpp"

namespace shale {

inline constexpr ReaderCode kNpyReader = {.library = "NumPy", .code = R"(import numpy as np

values = np.load({{file}}, mmap_mode="r")
{{#has_samples}}value = values[0]
{{/has_samples}})"};

}  // namespace shale
