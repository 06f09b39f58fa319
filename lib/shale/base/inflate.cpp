#include "shale/base/inflate.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include <isa-l/igzip_lib.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// isa-l counts the bytes at hand in 32 bits.
std::uint32_t at_once(std::size_t bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

void hand_over(inflate_state& state, Bytes input, std::span<std::byte> output) {
  // isa-l reads its input, but does not say so in the type.
  state.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(input.data()));
  state.avail_in = at_once(input.size());
  state.next_out = reinterpret_cast<std::uint8_t*>(output.data());
  state.avail_out = at_once(output.size());
}

}  // namespace

std::size_t inflate_beginning(Compression compression, Bytes head, std::span<std::byte> into) {
  const auto state = std::make_unique<inflate_state>();  // 80 KiB: too much for a stack
  isal_inflate_init(state.get());
  state->crc_flag = compression == Compression::gzip ? ISAL_GZIP : ISAL_ZLIB;
  hand_over(*state, head, into);
  const std::uint32_t wanted = state->avail_out;
  if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return 0;
  return wanted - state->avail_out;
}

std::optional<std::uint64_t> inflated_zlib_bytes(Bytes stream) {
  constexpr std::size_t kRoom = 64 * 1024;
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_ZLIB;
  std::vector<std::byte> room(kRoom);
  std::uint64_t bytes = 0;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    hand_over(*state, stream, room);
    const std::uint32_t offered = state->avail_in, wanted = state->avail_out;
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return std::nullopt;
    const std::uint32_t taken = offered - state->avail_in, given = wanted - state->avail_out;
    if (taken == 0 && given == 0) return std::nullopt;
    stream = stream.subspan(taken);
    bytes += given;
  }
  return bytes;
}

void inflate_exactly(Bytes stream, std::span<std::byte> into) {
  Inflater inflater;
  std::size_t given = 0;
  bool has_ended = false;
  const auto inflate_into = [&](std::span<std::byte> rest) {
    const Inflater::Progress progress = inflater.inflate(stream, rest);
    stream = stream.subspan(progress.taken);
    given += progress.given;
    has_ended = progress.has_ended;
    return progress.taken + progress.given > 0;
  };
  while (!has_ended && given < into.size() && inflate_into(into.subspan(given))) continue;
  if (given < into.size())
    throw Error(Code::damaged, "inflates to {} bytes, expected {}", given, into.size());
  // The inflater may not have looked at its last bits yet.
  std::byte more{};
  while (!has_ended && given == into.size() && inflate_into({&more, 1})) continue;
  if (given > into.size())
    throw Error(Code::damaged, "inflates to more than {} bytes", into.size());
  if (!has_ended) throw Error(Code::damaged, "deflate stream has no end");
}

struct Inflater::State {
  State() {
    isal_inflate_init(&isal);
    isal.crc_flag = ISAL_DEFLATE;
  }
  inflate_state isal;
  std::uint64_t taken = 0;
};

Inflater::Inflater() : state_(std::make_unique<State>()) {}
Inflater::~Inflater() = default;
Inflater::Inflater(Inflater&&) noexcept = default;
Inflater& Inflater::operator=(Inflater&&) noexcept = default;

Inflater::Progress Inflater::inflate(Bytes piece, std::span<std::byte> into) {
  inflate_state& isal = state_->isal;
  hand_over(isal, piece, into);
  const std::uint32_t offered = isal.avail_in, wanted = isal.avail_out;
  const int result = isal_inflate(&isal);
  if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT && result != ISAL_OUT_OVERFLOW) {
    throw Error(Code::damaged, "compressed data is not a valid deflate stream");
  }
  const Progress progress{.taken = offered - isal.avail_in,
                          .given = wanted - isal.avail_out,
                          .has_ended = isal.block_state == ISAL_BLOCK_FINISH};
  state_->taken += progress.taken;
  return progress;
}

std::uint64_t Inflater::stream_bytes() const {
  // isa-l takes up to eight bytes more than it has used.
  return state_->taken - static_cast<std::uint64_t>(state_->isal.read_in_length) / 8;
}

}  // namespace shale
