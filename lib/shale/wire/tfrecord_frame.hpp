#pragma once

#include <array>
#include <cstdint>

#include "shale/base/bytes.hpp"

// TFRecord frame (little-endian), repeated to the end of the file:
//   +0            u64  length of the payload
//   +8            u32  masked crc32c of the 8 length bytes
//   +12           ...  payload
//   +12 + length  u32  masked crc32c of the payload
// No trailer: a cut between frames is invisible here; the manifest's byte count reveals it.
// Source: tensorflow/core/lib/io/record_writer.h.

namespace shale {

inline constexpr std::uint64_t kFrameHeaderBytes = 12, kFrameTrailerBytes = 4;

/// TensorFlow's disguise of a crc32c, so that a checksum of data with checksums in it stays strong.
[[nodiscard]] constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// The 12 bytes in front of a payload.
[[nodiscard]] std::array<std::byte, kFrameHeaderBytes> frame_header(std::uint64_t payload_bytes);

}  // namespace shale
