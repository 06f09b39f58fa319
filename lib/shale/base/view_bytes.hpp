#pragma once

#include <cstdint>
#include <functional>

#include "shale/base/bytes.hpp"

namespace shale {

/// Gives the bytes [offset, offset + length) of what is parsed; a view may end at the next call.
using ViewBytes = std::function<Bytes(std::uint64_t offset, std::uint64_t length)>;

}  // namespace shale
