#include "shale/base/inflate.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include <isa-l/igzip_lib.h>

namespace shale {

std::size_t inflate_beginning(Compression compression, Bytes head, std::span<std::byte> into) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto state = std::make_unique<inflate_state>();  // 80 KiB: too much for a stack
  isal_inflate_init(state.get());
  state->crc_flag = compression == Compression::gzip ? ISAL_GZIP : ISAL_ZLIB;
  // isa-l reads its input, but does not say so in the type.
  state->next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(head.data()));
  state->avail_in = static_cast<std::uint32_t>(std::min(head.size(), kMost));
  state->next_out = reinterpret_cast<std::uint8_t*>(into.data());
  state->avail_out = static_cast<std::uint32_t>(std::min(into.size(), kMost));
  const std::uint32_t wanted = state->avail_out;
  if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return 0;
  return wanted - state->avail_out;
}

}  // namespace shale
