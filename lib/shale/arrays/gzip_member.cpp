#include "shale/arrays/gzip_member.hpp"

#include <algorithm>
#include <array>

#include "shale/base/bytes.hpp"
#include "shale/base/inflate.hpp"

namespace shale {
namespace {

constexpr std::size_t kFixedBytes = 10, kTrailerBytes = 8, kContentBytes = 4096;
constexpr unsigned kHasChecksum = 2, kHasExtra = 4, kHasName = 8, kHasComment = 16;

// Of all that precedes the stream; nullopt if `begin` does not hold it.
std::optional<std::size_t> header_bytes(Bytes begin) {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(begin[i]); };
  if (begin.size() < kFixedBytes || byte(0) != 0x1f || byte(1) != 0x8b || byte(2) != 8)
    return std::nullopt;
  const unsigned flags = byte(3);
  std::size_t length = kFixedBytes;
  if ((flags & kHasExtra) != 0) {
    if (length + 2 > begin.size()) return std::nullopt;
    length += 2 + (byte(length) | byte(length + 1) << 8U);
  }
  for (const unsigned text : {kHasName, kHasComment}) {
    if ((flags & text) == 0) continue;
    if (length >= begin.size()) return std::nullopt;
    const auto end = std::ranges::find(begin.subspan(length), std::byte{0});
    length = static_cast<std::size_t>(end - begin.begin()) + 1;
  }
  if ((flags & kHasChecksum) != 0) length += 2;
  return length <= begin.size() ? std::optional(length) : std::nullopt;
}

}  // namespace

std::optional<GzipMember> gzip_member_of(const InputFile& file, Bytes begin) {
  const std::optional<std::size_t> header = header_bytes(begin);
  if (!header || file.size() < *header + kTrailerBytes) return std::nullopt;
  GzipMember found;
  found.head.resize(kContentBytes);
  found.head.resize(inflate_beginning(Compression::gzip, begin, found.head));
  std::array<std::byte, kTrailerBytes> trailer{};
  file.read_exact(file.size() - kTrailerBytes, trailer);
  ByteReader reader(trailer);
  const std::string name = file.name();
  found.member = {.name = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name,
                  .is_deflated = true,
                  .data_offset = *header,
                  .data_bytes = file.size() - *header - kTrailerBytes,
                  .crc32 = reader.read_u32()};
  found.low_bytes = reader.read_u32();
  return found;
}

}  // namespace shale
