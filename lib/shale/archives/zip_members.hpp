#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "shale/archives/tar_members.hpp"

namespace shale {

/// Of a file in a zip archive, by its address (ArchiveSet): what Member does not say.
struct PackedMember {
  std::uint64_t address = 0, packed_bytes = 0;  ///< 0 packed bytes: it is stored
  std::uint32_t crc32 = 0;
  std::string damage = {};  ///< why it cannot be read; its address is then that of its entry
  static auto columns(auto& row) {
    return std::tie(row.address, row.packed_bytes, row.crc32, row.damage);
  }
};
using PackedTable = SearchableTable<PackedMember>;

/// Adds what a zip archive holds to the tables. Reads its directory, and the header in front of
/// each file, many at once. Memory: that of the listing, however many files there are.
/// A file that cannot be read - its header is not that of its entry, it is encrypted, compressed by
/// another method than deflate, longer than deflate can make it, reaches into the file behind it -
/// is listed with OnDamage::leave_out as one of no bytes, with the reason; else it is refused.
/// Where header and entry have different names it is listed under each of them that lies in a
/// folder of other files. Errors: Code::damaged, with file and offset, for a directory that does
/// not fit the archive, links that cannot be read, and what is refused; Code::unsupported, by name,
/// for what is refused since nothing here reads it; Code::bad_content for names that lead out of
/// the archive, or are none; Code::io.
ListedMembers list_zip(const MemberListing& listing, MemberTable& table, PackedTable& packed);

}  // namespace shale
