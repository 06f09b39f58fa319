#include "shale/base/bytes.hpp"

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"

namespace shale {

Bytes ByteReader::read_bytes(std::uint64_t count) {
  if (count > remaining()) {
    throw Error(Code::damaged, "{} needed, only {} left", format_counted(count, "byte", "bytes"),
                remaining())
        .at(where_, offset());
  }
  const Bytes run = bytes_.subspan(position_, count);
  position_ += count;
  return run;
}

std::uint64_t ByteReader::read_varint() {
  const std::uint64_t begin = offset();
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = read_u8();
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  throw Error(Code::damaged, "varint is longer than 64 bits").at(where_, begin);
}

void ByteWriter::write_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) write(static_cast<std::uint8_t>(value | 0x80));
  write(static_cast<std::uint8_t>(value));
}

}  // namespace shale
