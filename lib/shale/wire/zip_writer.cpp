#include "shale/wire/zip_writer.hpp"

#include <string_view>

namespace shale {
namespace {

constexpr std::uint32_t kWide = 0xffff'ffff;
constexpr std::uint16_t kNeedsZip64 = 45, kNeedsDeflate = 20, kMadeByUnix = 0x0300;
constexpr std::uint16_t kDeflateMethod = 8, kUtf8Names = 0x0800, kZip64Field = 1,
                        kPaddingField = 0x4246;  // "FB", as PyTorch writes it
constexpr std::uint32_t kFirstOfJanuary1980 = 0x0021'0000, kFileForAll = 0x81a4'0000;  // -rw-r--r--

std::uint32_t narrow(std::uint64_t number, bool is_wide) {
  return is_wide ? kWide : static_cast<std::uint32_t>(number);
}

// What a local header and an entry of the directory have in common.
void write_common(ByteWriter& out, const ZipEntry& entry, bool is_wide, std::uint16_t extra_bytes) {
  out.write(is_wide ? kNeedsZip64 : kNeedsDeflate);
  out.write(kUtf8Names);
  out.write(entry.is_deflated ? kDeflateMethod : std::uint16_t{0});
  out.write(kFirstOfJanuary1980);
  out.write(entry.crc32);
  out.write(narrow(entry.stored, entry.is_wide));
  out.write(narrow(entry.bytes, entry.is_wide));
  out.write(static_cast<std::uint16_t>(entry.name.size()));
  out.write(extra_bytes);
}

}  // namespace

std::vector<std::byte> zip_local_header(const ZipEntry& entry) {
  ByteWriter out;
  out.write_text("PK\x03\x04");
  write_common(out, entry, entry.is_wide,
               static_cast<std::uint16_t>((entry.is_wide ? 20 : 0) + entry.padding));
  out.write_text(entry.name);
  if (entry.is_wide) {
    out.write(kZip64Field);
    out.write(std::uint16_t{16});
    out.write(entry.bytes);
    out.write(entry.stored);
  }
  if (entry.padding > 0) {
    out.write(kPaddingField);
    out.write(static_cast<std::uint16_t>(entry.padding - 4));
    out.write_bytes(std::vector<std::byte>(entry.padding - 4));
  }
  return out.take();
}

void append_zip_directory_entry(ByteWriter& out, const ZipEntry& entry) {
  const bool is_far = entry.offset >= kWide;
  const auto numbers = static_cast<std::uint16_t>((entry.is_wide ? 16 : 0) + (is_far ? 8 : 0));
  const bool has_extra = numbers > 0;
  out.write_text("PK\x01\x02");
  out.write(static_cast<std::uint16_t>(kMadeByUnix | kNeedsZip64));
  write_common(out, entry, has_extra, static_cast<std::uint16_t>(has_extra ? numbers + 4 : 0));
  out.write(std::uint16_t{0});  // comment
  out.write(std::uint16_t{0});  // disk
  out.write(std::uint16_t{0});  // attributes, inner
  out.write(kFileForAll);
  out.write(narrow(entry.offset, is_far));
  out.write_text(entry.name);
  if (!has_extra) return;
  out.write(kZip64Field);
  out.write(numbers);
  if (entry.is_wide) {
    out.write(entry.bytes);
    out.write(entry.stored);
  }
  if (is_far) out.write(entry.offset);
}

void append_zip_end(ByteWriter& out, std::uint64_t count, std::uint64_t begin,
                    std::uint64_t bytes) {
  const bool is_wide = count >= 0xffff || begin >= kWide || bytes >= kWide;
  if (is_wide) {
    const std::uint64_t record = begin + bytes;
    out.write_text("PK\x06\x06");
    out.write(std::uint64_t{44});
    out.write(static_cast<std::uint16_t>(kMadeByUnix | kNeedsZip64));
    out.write(kNeedsZip64);
    out.write(std::uint64_t{0});  // disks
    for (const std::uint64_t number : {count, count, bytes, begin}) out.write(number);
    out.write_text("PK\x06\x07");
    out.write(std::uint32_t{0});
    out.write(record);
    out.write(std::uint32_t{1});
  }
  const auto members = is_wide ? std::uint16_t{0xffff} : static_cast<std::uint16_t>(count);
  out.write_text("PK\x05\x06");
  out.write(std::uint32_t{0});  // disks
  out.write(members);
  out.write(members);
  out.write(narrow(bytes, is_wide));
  out.write(narrow(begin, is_wide));
  out.write(std::uint16_t{0});  // comment
}

}  // namespace shale
