#pragma once

#include <string>

#include "shale/base/bytes.hpp"

namespace shale {

/// Little-endian UTF-16 as UTF-8; half of a surrogate pair becomes U+FFFD, half a unit at the end
/// is left out.
[[nodiscard]] std::string utf8_of_utf16(Bytes units);

}  // namespace shale
