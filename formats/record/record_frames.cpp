#include "formats/record/record_frames.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "shale/base/checksum.hpp"

#include "formats/record/record_features.hpp"

namespace shale {
namespace {

Finding lost(std::string_view fact, std::uint64_t begin, std::uint64_t left) {
  Finding finding;
  finding.message =
      fmt::format("{}; the {} bytes from here to the end are unaccounted for", fact, left);
  finding.offset = begin;
  finding.length = left;
  return finding;
}

}  // namespace

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

bool is_gzip_of_nothing(Bytes file) {
  constexpr std::size_t kLeast = 20, kTrailer = 8;  // CRC-32 and length, both 0
  if (file.size() < kLeast || file[0] != std::byte{0x1f} || file[1] != std::byte{0x8b})
    return false;
  std::array<std::byte, 1> first{};
  return inflate_beginning(Compression::gzip, file, first) == 0 &&
         std::ranges::all_of(file.last(kTrailer), [](std::byte b) { return b == std::byte{0}; });
}

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

std::optional<RecordFrame> FrameWalk::next() {
  for (; lost_ != nullptr && next_lost_ < lost_->size(); ++next_lost_) {
    const LostRange& lost = (*lost_)[next_lost_];
    if (position_ < lost.offset) break;
    position_ = std::max(position_, lost.offset + lost.length);
  }
  const std::uint64_t begin = position_;
  pace_.step_to(begin);
  if (begin >= end_ || damage_) return std::nullopt;
  const std::uint64_t left = file_.size() - begin;
  if (left < kFrameBytes) {
    damage_ = lost("file ends inside a frame", begin, left);
    damage_->found = fmt::format("{} bytes", left);
    damage_->expected = fmt::format("{} or more", kFrameBytes);
    return std::nullopt;
  }
  const FrameHeader header =
      read_frame_header(view_(begin, kFrameHeaderBytes).first<kFrameHeaderBytes>());
  if (!header.is_trusted()) {
    damage_ = lost("checksum mismatch in the length of the frame", begin, left);
    damage_->found = fmt::format("{:#010x}", header.stored_crc);
    damage_->expected = fmt::format("{:#010x}", header.expected_crc);
    return std::nullopt;
  }
  if (header.payload_bytes > left - kFrameBytes) {
    damage_ = lost("frame reaches beyond the end of the file", begin, left);
    damage_->found = fmt::format("payload of {} bytes", header.payload_bytes);
    damage_->expected = fmt::format("{} or less", left - kFrameBytes);
    return std::nullopt;
  }
  const RecordFrame frame{begin, header.payload_bytes};
  position_ = frame.end();
  return frame;
}

std::optional<Finding> check_payload(const ViewBytes& view, const RecordFrame& frame,
                                     std::span<FieldPlace> places, WalkPace& pace) {
  const std::uint64_t begin = frame.payload_begin(), length = frame.payload_bytes;
  PayloadChecksum checksum(places, begin);
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t run = std::min(kPayloadWindow, length - done);
    if (done > 0) pace.step();
    checksum.update(view(begin + done, run));
    done += run;
  }
  const std::uint32_t expected = mask_crc(checksum.total());
  std::uint32_t stored = 0;
  std::memcpy(&stored, view(begin + length, kFrameTrailerBytes).data(), kFrameTrailerBytes);
  if (stored == expected) return std::nullopt;
  Finding finding;
  finding.message = "checksum mismatch in the payload of the frame";
  finding.offset = begin;
  finding.length = length + kFrameTrailerBytes;
  finding.found = fmt::format("{:#010x}", stored);
  finding.expected = fmt::format("{:#010x}", expected);
  return finding;
}

}  // namespace shale
