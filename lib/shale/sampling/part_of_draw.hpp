#pragma once

#include <cstdint>
#include <memory>

#include "shale/sampling/draw.hpp"

namespace shale {

/// The slots [first, first + rows) of a draw, which has them, as a draw of its own.
[[nodiscard]] std::unique_ptr<Draw> part_of_draw(std::unique_ptr<const Draw> whole,
                                                 std::uint64_t first, std::uint64_t rows);
/// The same of one that outlives it.
[[nodiscard]] std::unique_ptr<Draw> part_of_draw(const Draw& whole, std::uint64_t first,
                                                 std::uint64_t rows);

}  // namespace shale
