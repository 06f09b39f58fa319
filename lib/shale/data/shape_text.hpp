#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace shale {

/// A shape as Python writes it: "()", "(3,)", "(2, 3)".
[[nodiscard]] std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace shale
