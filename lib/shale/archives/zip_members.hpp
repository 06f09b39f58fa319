#pragma once

#include <cstdint>
#include <tuple>

#include "shale/archives/tar_members.hpp"

namespace shale {

/// Of a file in a zip archive, by its address (ArchiveSet): what Member does not say.
struct PackedMember {
  std::uint64_t address = 0, packed_bytes = 0;  ///< 0 packed bytes: it is stored
  std::uint32_t crc32 = 0;
  static auto columns(auto& row) { return std::tie(row.address, row.packed_bytes, row.crc32); }
};
using PackedTable = SearchableTable<PackedMember>;

/// Adds what a zip archive holds to the tables. Reads its directory, and the header in front of
/// each file, many at once. Memory: that of the listing, however many files there are. Errors:
/// Code::damaged, with file and offset, for a directory that does not fit the archive, headers that
/// are not those of their files, files that overlap or are longer than deflate can make them;
/// Code::unsupported, by name, for encrypted files, and for other methods than stored and deflated;
/// Code::bad_content for names that lead out of the archive; Code::io.
ListedMembers list_zip(const MemberListing& listing, MemberTable& table, PackedTable& packed);

}  // namespace shale
