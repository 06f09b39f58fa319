#pragma once

#include "shale/format/format.hpp"

namespace shale {

// A file of another tool holds a tensor, or a dict of them.
inline constexpr ReaderCode kPtReader = {.library = "PyTorch", .code = R"(import torch

values = torch.load({{file}}, mmap=True, weights_only=True)
{{#is_foreign}}if isinstance(values, dict):
    values = values[{{field|python}}]
{{/is_foreign}}{{#has_samples}}value = values[0]
{{/has_samples}})"};

}  // namespace shale
