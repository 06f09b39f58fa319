#include "formats/record/record_compression.hpp"

#include <array>

#include "shale/wire/tfrecord_frame.hpp"

namespace shale {

std::optional<Compression> compression_of_frames(Bytes head) {
  if (head.size() < 2) return std::nullopt;
  const auto first = std::to_integer<unsigned>(head[0]),
             second = std::to_integer<unsigned>(head[1]);
  const bool is_gzip = first == 0x1f && second == 0x8b;
  const bool is_zlib = (first & 0x0f) == 8 && (first * 256 + second) % 31 == 0;  // RFC 1950
  if (!is_gzip && !is_zlib) return std::nullopt;
  const Compression compression = is_gzip ? Compression::gzip : Compression::zlib;
  std::array<std::byte, kFrameHeaderBytes> header{};
  if (inflate_beginning(compression, head, header) < header.size()) return std::nullopt;
  return read_frame_header(header).is_trusted() ? std::optional(compression) : std::nullopt;
}

}  // namespace shale
