#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"

namespace shale::test {

/// A member as it is to stand in a zip archive, true or not.
struct ZipPart {
  std::string name, data;  ///< data as they lie in the archive
  std::uint16_t method = 0, flags = 0;
  std::optional<std::uint64_t> bytes = {};  ///< else those of data
  std::optional<std::uint32_t> crc = {};    ///< else that of data
  bool is_zip64 = false;                    ///< sizes and offset stand in extra fields
  std::string local_extra = {};
  std::optional<std::string> local_name = {};
};

struct ZipEnd {
  std::string comment = {};
  bool is_zip64 = false;
};

inline std::string zip_of(const std::vector<ZipPart>& parts, const ZipEnd& end = {}) {
  constexpr std::uint32_t kWide = 0xffffffff;
  ByteWriter out, directory;
  for (const ZipPart& part : parts) {
    const std::uint64_t offset = out.size(), bytes = part.bytes.value_or(part.data.size());
    const std::string local_name = part.local_name.value_or(part.name);
    const std::uint32_t crc = part.crc.value_or(crc32(as_bytes(part.data)));
    const auto shared = [&](ByteWriter& into, std::uint64_t extra_bytes, std::size_t name_bytes) {
      into.write(std::uint16_t{45});
      into.write(part.flags);
      into.write(part.method);
      into.write(std::uint32_t{0x00210000});
      into.write(crc);
      into.write(part.is_zip64 ? kWide : static_cast<std::uint32_t>(part.data.size()));
      into.write(part.is_zip64 ? kWide : static_cast<std::uint32_t>(bytes));
      into.write(static_cast<std::uint16_t>(name_bytes));
      into.write(static_cast<std::uint16_t>(extra_bytes));
    };
    out.write_text("PK\x03\x04");
    shared(out, part.local_extra.size(), local_name.size());
    out.write_text(local_name + part.local_extra + part.data);

    directory.write_text("PK\x01\x02");
    directory.write(std::uint16_t{0x032d});
    shared(directory, part.is_zip64 ? 28 + 6 : 0, part.name.size());
    directory.write_bytes(Bytes(std::vector<std::byte>(10)));
    directory.write(part.is_zip64 ? kWide : static_cast<std::uint32_t>(offset));
    directory.write_text(part.name);
    if (!part.is_zip64) continue;
    directory.write_text(std::string_view("\xfe\xca\x02\0ab", 6));  // another field first
    directory.write(std::uint16_t{1});
    directory.write(std::uint16_t{24});
    directory.write(bytes);
    directory.write(std::uint64_t{part.data.size()});
    directory.write(offset);
  }
  const std::uint64_t begin = out.size(), count = parts.size();
  out.write_bytes(directory.bytes());
  if (end.is_zip64) {
    const std::uint64_t record = out.size();
    out.write_text("PK\x06\x06");
    out.write(std::uint64_t{44});
    for (const std::uint32_t number : {0x002d032dU, 0U, 0U}) out.write(number);
    for (const std::uint64_t number : {count, count, directory.size(), begin}) out.write(number);
    out.write_text("PK\x06\x07");
    out.write(std::uint32_t{0});
    out.write(record);
    out.write(std::uint32_t{1});
  }
  out.write_text("PK\x05\x06");
  out.write(std::uint32_t{0});
  for (int i = 0; i < 2; ++i) {
    out.write(end.is_zip64 ? std::uint16_t{0xffff} : static_cast<std::uint16_t>(count));
  }
  out.write(end.is_zip64 ? kWide : static_cast<std::uint32_t>(directory.size()));
  out.write(end.is_zip64 ? kWide : static_cast<std::uint32_t>(begin));
  out.write(static_cast<std::uint16_t>(end.comment.size()));
  out.write_text(end.comment);
  return std::string(as_text(out.bytes()));
}

}  // namespace shale::test
