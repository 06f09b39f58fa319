#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "shale/base/bytes.hpp"

namespace shale {

/// Decompresses what LibLZF compressed. Returns the number of bytes; 0 where `into` is too small or
/// `packed` is not its format.
/// Source: LibLZF 3.6, lzf_d.c; h5py/lzf/lzf_filter.c.
[[nodiscard]] std::size_t unpack_lzf(Bytes packed, std::span<std::byte> into);

/// How many bytes it has, decompressed; nothing if it is not its format.
[[nodiscard]] std::optional<std::uint64_t> unpacked_lzf_bytes(Bytes packed);

}  // namespace shale
