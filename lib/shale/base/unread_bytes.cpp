#include "shale/base/unread_bytes.hpp"

#include <algorithm>
#include <vector>

#include "shale/base/checksum.hpp"

namespace shale {

void UnreadBytes::for_each_piece(const std::function<void(Bytes)>& use) const {
  std::uint32_t crc = 0;
  read_all([&](Bytes piece) {
    crc = shale::crc32c(piece, crc);
    use(piece);
  });
  if (crc32c_ && *crc32c_ != crc) throw wrong_checksum(crc, *crc32c_);
  crc32c_ = crc;
}

std::uint32_t UnreadBytes::crc32c() const {
  if (!crc32c_) for_each_piece([](Bytes) {});
  return *crc32c_;
}

void UnreadBytes::read_all(const std::function<void(Bytes)>& use) const {
  std::vector<std::byte> piece(std::min(kPieceBytes, size()));
  for (std::uint64_t done = 0; done < size();) {
    const auto next = std::span(piece).first(std::min<std::uint64_t>(piece.size(), size() - done));
    read(done, next);
    use(next);
    done += next.size();
  }
}

std::uint64_t AnyBytes::size() const {
  const Unread* unread_bytes = unread();
  return unread_bytes != nullptr ? (*unread_bytes)->size() : std::get<Bytes>(bytes_).size();
}

std::uint32_t AnyBytes::crc32c() const {
  const Unread* unread_bytes = unread();
  return unread_bytes != nullptr ? (*unread_bytes)->crc32c()
                                 : shale::crc32c(std::get<Bytes>(bytes_));
}

Bytes AnyBytes::held() const {
  const Bytes* bytes = std::get_if<Bytes>(&bytes_);
  return bytes != nullptr ? *bytes : Bytes();
}

void BytesOfSize::read(std::uint64_t, std::span<std::byte>) const {
  throw Error(Code::bug, "bytes are read of which only the size is known");
}

Error BytesOfSize::wrong_checksum(std::uint32_t, std::uint32_t) const {
  return {Code::bug, "bytes are read of which only the size is known"};
}

}  // namespace shale
