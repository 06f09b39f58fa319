#include "shale/wire/stream_kind.hpp"

#include <algorithm>

#include "shale/wire/tar_reader.hpp"

// gzip: 1f 8b, and 08 for deflate, the only method there is (RFC 1952, section 2.3.1). zstd: a
// frame 28 b5 2f fd, or a skippable one, 5? 2a 4d 18 (RFC 8878, section 3.1). xz: fd "7zXZ" 00.
// bzip2: "BZh", a digit, and the six digits of pi that begin a block or those of its root that end
// the stream.

namespace shale {
namespace {

constexpr std::string_view kGzipMagic("\x1f\x8b\x08", 3), kZstdMagic("\x28\xb5\x2f\xfd", 4),
    kSkippableTail("\x2a\x4d\x18", 3);
constexpr std::string_view kXzMagic(
    "\xfd"
    "7zXZ\0",
    6);
constexpr std::string_view kBzip2Block("\x31\x41\x59\x26\x53\x59", 6),
    kBzip2End("\x17\x72\x45\x38\x50\x90", 6);
constexpr std::size_t kBzip2HeadBytes = 4;

bool is_zstd(std::string_view head) {
  if (head.starts_with(kZstdMagic)) return true;
  return head.size() >= kZstdMagic.size() && head.substr(1, 3) == kSkippableTail &&
         (static_cast<unsigned char>(head[0]) & 0xF0U) == 0x50U;
}

bool is_bzip2(std::string_view head) {
  if (!head.starts_with("BZh") || head.size() < kBzip2HeadBytes + kBzip2Block.size()) return false;
  const std::string_view block = head.substr(kBzip2HeadBytes);
  return block.starts_with(kBzip2Block) || block.starts_with(kBzip2End);
}

}  // namespace

StreamKind stream_kind_of(Bytes head) {
  const std::string_view text = as_text(head);
  if (text.starts_with(kGzipMagic)) return StreamKind::gzip;
  if (is_zstd(text)) return StreamKind::zstd;
  if (text.starts_with(kXzMagic)) return StreamKind::xz;
  if (is_bzip2(text)) return StreamKind::bzip2;
  if (head.size() < kTarBlockBytes) return StreamKind::other;
  const Bytes block = head.first(kTarBlockBytes);
  const bool is_zero =
      std::all_of(block.begin(), block.end(), [](std::byte byte) { return byte == std::byte{0}; });
  return is_zero || is_tar_header(block) ? StreamKind::tar : StreamKind::other;
}

std::string_view name_of(StreamKind kind) {
  switch (kind) {
    case StreamKind::tar:
      return "tar";
    case StreamKind::gzip:
      return "gzip";
    case StreamKind::zstd:
      return "zstd";
    case StreamKind::xz:
      return "xz";
    case StreamKind::bzip2:
      return "bzip2";
    case StreamKind::other:
      break;
  }
  return "text";
}

}  // namespace shale
