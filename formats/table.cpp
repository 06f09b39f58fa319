#include "formats/table.hpp"

namespace shale {

std::span<const Format* const> all_formats() { return kFormats; }

}  // namespace shale
