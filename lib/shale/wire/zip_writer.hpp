#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"

// The records of a zip archive as shale writes them; zip_directory.hpp draws and reads them. Times
// are 1980-01-01, so the same members give the same bytes.

namespace shale {

/// A member to be written.
struct ZipEntry {
  std::string name;
  bool is_deflated = false;
  bool is_wide = false;       ///< its sizes are in a zip64 field
  std::uint64_t offset = 0;   ///< of its local header
  std::uint64_t bytes = 0;    ///< of the file
  std::uint64_t stored = 0;   ///< of it in the archive
  std::uint32_t crc32 = 0;    ///< of the file
  std::uint64_t padding = 0;  ///< bytes of an extra field that moves the data: 0, or at least 4
};

/// Larger files are wide: deflate makes no member larger by more than what is left to 4 GiB.
inline constexpr std::uint64_t kMostNarrowZipBytes = 0xf000'0000;

/// A directory that begins there, or later, ends in a zip64 record, which has so many bytes.
inline constexpr std::uint64_t kFarZipOffset = 0xffff'ffff, kZip64EndBytes = 76;

/// What precedes the data of a member. Its length depends on name, is_wide and padding
/// alone.
[[nodiscard]] std::vector<std::byte> zip_local_header(const ZipEntry& entry);
/// Its entry in the central directory.
void append_zip_directory_entry(ByteWriter& directory, const ZipEntry& entry);
/// What follows a directory of `count` entries that has `bytes` from `begin` on.
void append_zip_end(ByteWriter& out, std::uint64_t count, std::uint64_t begin, std::uint64_t bytes);

}  // namespace shale
