#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shale/base/bytes.hpp"

namespace shale {

enum class Compression : std::uint8_t { gzip, zlib };

/// Fills `into` with the first bytes that a compressed stream stands for, of which `head` is the
/// beginning. Returns how many there were; 0 for anything that is no such stream. Computed by
/// isa-l.
[[nodiscard]] std::size_t inflate_beginning(Compression compression, Bytes head,
                                            std::span<std::byte> into);

}  // namespace shale
