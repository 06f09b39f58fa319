#include "shale/arrays/npz_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/deflate.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"

// The records are drawn in wire/zip_directory.hpp, which reads them. Sizes and checksums of a
// member are known behind it: its local header is patched.

namespace shale {
namespace {

constexpr std::uint64_t kCopiedAtOnce = 1 << 20;
constexpr std::uint32_t kWide = 0xffff'ffff;
// Deflate makes no member larger by more than what is left to 4 GiB.
constexpr std::uint64_t kMostNarrowBytes = 0xf000'0000;
constexpr std::uint16_t kNeedsZip64 = 45, kNeedsDeflate = 20, kMadeByUnix = 0x0300;
constexpr std::uint16_t kDeflated = 8, kUtf8Names = 0x0800, kZip64Field = 1;
constexpr std::uint32_t kFirstOfJanuary1980 = 0x0021'0000, kFileForAll = 0x81a4'0000;  // -rw-r--r--

struct Entry {
  std::string name;
  bool is_deflated = false, is_wide = false;
  std::uint64_t offset = 0, bytes = 0, stored = 0;
  std::uint32_t crc = 0;
};

std::uint32_t narrow(std::uint64_t number, bool is_wide) {
  return is_wide ? kWide : static_cast<std::uint32_t>(number);
}

// What a local header and an entry of the directory have in common.
void write_common(ByteWriter& out, const Entry& entry, bool is_wide, std::uint16_t extra_bytes) {
  out.write(is_wide ? kNeedsZip64 : kNeedsDeflate);
  out.write(kUtf8Names);
  out.write(entry.is_deflated ? kDeflated : std::uint16_t{0});
  out.write(kFirstOfJanuary1980);
  out.write(entry.crc);
  out.write(narrow(entry.stored, entry.is_wide));
  out.write(narrow(entry.bytes, entry.is_wide));
  out.write(static_cast<std::uint16_t>(entry.name.size()));
  out.write(extra_bytes);
}

std::vector<std::byte> local_header(const Entry& entry) {
  ByteWriter out;
  out.write_text("PK\x03\x04");
  write_common(out, entry, entry.is_wide, entry.is_wide ? 20 : 0);
  out.write_text(entry.name);
  if (entry.is_wide) {
    out.write(kZip64Field);
    out.write(std::uint16_t{16});
    out.write(entry.bytes);
    out.write(entry.stored);
  }
  return out.take();
}

void write_directory_entry(ByteWriter& out, const Entry& entry) {
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

void write_end(ByteWriter& out, std::uint64_t count, std::uint64_t begin, std::uint64_t bytes) {
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

Entry add_member(OutputFile& archive, const NpzMember& member, bool is_deflated,
                 const std::function<void()>& stop_if_asked) {
  const InputFile file(member.path);
  Entry entry{.name = member.name,
              .is_deflated = is_deflated,
              .is_wide = file.size() > kMostNarrowBytes,
              .offset = archive.size(),
              .bytes = file.size()};
  archive.append(local_header(entry));
  const std::uint64_t begin = archive.size();
  const auto append = [&](Bytes bytes) { archive.append(bytes); };
  Deflater deflater;
  std::vector<std::byte> piece(std::min(kCopiedAtOnce, file.size()));
  for (std::uint64_t done = 0; done < file.size();) {
    const auto some = std::span(piece).first(std::min(kCopiedAtOnce, file.size() - done));
    file.read_exact(done, some);
    done += some.size();
    entry.crc = crc32(some, entry.crc);
    if (is_deflated) {
      deflater.deflate(some, append);
    } else {
      append(some);
    }
    stop_if_asked();
  }
  if (is_deflated) deflater.finish(append);
  entry.stored = archive.size() - begin;
  archive.patch(entry.offset, local_header(entry));
  return entry;
}

}  // namespace

void write_npz(OutputFile& archive, const std::vector<NpzMember>& members, bool is_deflated,
               const std::function<void()>& stop_if_asked) {
  ByteWriter directory;
  for (const NpzMember& member : members) {
    write_directory_entry(directory, add_member(archive, member, is_deflated, stop_if_asked));
    remove_file(member.path);
  }
  const std::uint64_t begin = archive.size(), bytes = directory.size();
  write_end(directory, members.size(), begin, bytes);
  archive.append(directory.bytes());
}

}  // namespace shale
