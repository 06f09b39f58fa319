//  The layout of a JPEG: jpeg_probe.cpp.

#include "shale/image/jpeg_segments.hpp"

#include <cstring>

namespace shale {
namespace {

// Where the next FF that begins a marker stands, from `at` on; the end if there is none. In
// entropy-coded data FF 00 is a value and FF D0..D7 a restart.
std::uint64_t next_ff(Bytes jpeg, std::uint64_t at, bool is_in_scan) {
  while (at < jpeg.size()) {
    const void* found = std::memchr(jpeg.data() + at, 0xFF, jpeg.size() - at);
    if (found == nullptr) break;
    at = static_cast<std::uint64_t>(static_cast<const std::byte*>(found) - jpeg.data());
    if (at + 1 == jpeg.size()) break;
    const auto code = static_cast<std::uint8_t>(jpeg[at + 1]);
    const bool is_restart = code >= kRst0 && code <= kRst7;
    if (code == 0 || (is_in_scan && is_restart)) {
      at += 2;
    } else if (code == 0xFF) {
      ++at;
    } else {
      return at;
    }
  }
  return jpeg.size();
}

}  // namespace

std::optional<JpegSegments::Segment> JpegSegments::next() {
  Segment segment;
  segment.begin = at_ = next_ff(jpeg_, at_, is_in_scan_);
  if (segment.begin == jpeg_.size()) return std::nullopt;
  segment.code = view_.u8(segment.begin + 1);
  segment.payload = segment.end = segment.begin + 2;
  const bool stands_alone = segment.code == kTem || segment.code == kEoi ||
                            (segment.code >= kRst0 && segment.code <= kSoi);
  if (!stands_alone) {
    const std::uint64_t length = view_.u16(segment.payload);
    if (length < 2 || !view_.has(segment.payload, length)) return std::nullopt;
    segment.end = segment.payload + length;
    segment.payload += 2;
  }
  is_in_scan_ = segment.code == kSos;
  at_ = segment.code == kEoi ? jpeg_.size() : segment.end;
  return segment;
}

std::uint64_t JpegSegments::end_of_scan() { return at_ = next_ff(jpeg_, at_, true); }

}  // namespace shale
