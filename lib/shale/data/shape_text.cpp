#include "shale/data/shape_text.hpp"

#include <fmt/format.h>

namespace shale {

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

}  // namespace shale
