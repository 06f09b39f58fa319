#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "shale/base/bytes.hpp"

// TFRecord frame (little-endian), repeated to the end of the file:
//   +0            u64  length of the payload
//   +8            u32  masked crc32c of the 8 length bytes
//   +12           ...  payload
//   +12 + length  u32  masked crc32c of the payload
// No trailer: truncation between frames is invisible here; the manifest's byte count reveals it.
// Source: tensorflow/core/lib/io/record_writer.h.

namespace shale {

inline constexpr std::uint64_t kFrameHeaderBytes = 12, kFrameTrailerBytes = 4;
inline constexpr std::uint64_t kFrameBytes = kFrameHeaderBytes + kFrameTrailerBytes;

/// TensorFlow's disguise of a crc32c, so that a checksum of data with checksums in it stays strong.
[[nodiscard]] constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// The 12 bytes in front of a payload.
[[nodiscard]] std::array<std::byte, kFrameHeaderBytes> frame_header(std::uint64_t payload_bytes);

/// What the 12 bytes in front of a payload say. The length means nothing unless it is trusted.
struct FrameHeader {
  std::uint64_t payload_bytes = 0;
  std::uint32_t stored_crc = 0, expected_crc = 0;  ///< of the length, both masked
  [[nodiscard]] bool is_trusted() const { return stored_crc == expected_crc; }
};
[[nodiscard]] FrameHeader read_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes);

}  // namespace shale
