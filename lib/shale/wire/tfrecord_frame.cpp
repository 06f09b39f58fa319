#include "shale/wire/tfrecord_frame.hpp"

#include <cstring>

#include "shale/base/checksum.hpp"

namespace shale {

std::array<std::byte, kFrameHeaderBytes> frame_header(std::uint64_t payload_bytes) {
  std::array<std::byte, kFrameHeaderBytes> header;
  const std::uint32_t masked = mask_crc(crc32c(bytes_of(payload_bytes)));
  std::memcpy(header.data(), &payload_bytes, sizeof payload_bytes);
  std::memcpy(header.data() + sizeof payload_bytes, &masked, sizeof masked);
  return header;
}

FrameHeader read_frame_header(std::span<const std::byte, kFrameHeaderBytes> bytes) {
  ByteReader in(bytes);
  FrameHeader header;
  header.payload_bytes = in.read_u64();
  header.stored_crc = in.read_u32();
  header.expected_crc = mask_crc(crc32c(bytes.first<sizeof header.payload_bytes>()));
  return header;
}

}  // namespace shale
