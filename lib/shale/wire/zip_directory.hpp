#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"

// clang-format off
// zip, little-endian, read from its end:
//   end record      "PK\5\6", u16 disk, u16 disk of the directory, u16 members on this disk, u16 members,
//                   u32 directory bytes, u32 directory offset, u16 comment bytes, comment (to the end of the file)
//   zip64 locator   20 bytes in front of it: "PK\6\7", u32 disk, u64 offset of the zip64 end record, u32 disks
//   zip64 end       "PK\6\6", u64 bytes that follow, u16 made by, u16 needs, u32 disk, u32 disk of the directory,
//                   u64 members on this disk, u64 members, u64 directory bytes, u64 directory offset
//   directory entry "PK\1\2", u16 made by, u16 needs, u16 flags, u16 method, u32 time, u32 crc32, u32 compressed bytes,
//                   u32 bytes, u16 name, u16 extra, u16 comment (their bytes), u16 disk, u16 u32 attributes,
//                   u32 offset of the local header; name, extra, comment
//   local header    "PK\3\4", u16 needs, u16 flags, u16 method, u32 time, u32 crc32, u32 u32 sizes (or 0), u16 name,
//                   u16 extra; name, extra; then the data
// Numbers of all ones in a directory entry are in its extra field 1: u64 bytes, u64 compressed bytes, u64 offset,
// u32 disk, as many as are missing. Those of the end record are in the zip64 end record.
// Source: PKWARE APPNOTE.TXT 6.3.10, section 4.
// clang-format on

namespace shale {

/// One file in a zip archive.
struct ZipMember {
  std::string name;  ///< UTF-8
  bool is_deflated = false;
  std::uint64_t data_offset = 0;  ///< in the archive
  std::uint64_t data_bytes = 0;   ///< there; less than `bytes` where compressed
  std::uint64_t bytes = 0;        ///< of the file itself
  std::uint32_t crc32 = 0;        ///< of the file itself
  bool is_repeated = false;       ///< another member has the same name
};

/// A file as the central directory alone has it: where its data are is in its local header.
struct ZipEntryOfDirectory {
  ZipMember member;         ///< its name is as it is stored
  std::string name;         ///< UTF-8, by what the entry says of it, else of the old code page 437
  std::uint64_t place = 0;  ///< of the entry itself
  std::uint64_t local_offset = 0;  ///< of the local header
  std::uint16_t method = 0, flags = 0, made_by = 0;
  std::uint32_t attributes = 0;

  [[nodiscard]] bool is_encrypted() const;
  /// Stored or deflated.
  [[nodiscard]] bool is_readable() const;
  /// As stat has it; 0: the entry was not made on Unix.
  [[nodiscard]] std::uint32_t unix_mode() const;
};

/// The central directory of a zip archive of any number of files. Nothing is kept of it. Errors, of
/// the constructor and of for_each: as read_zip_directory has them, but for kinds of members.
class ZipDirectory {
 public:
  /// What it is given must outlive it.
  ZipDirectory(std::uint64_t size, ViewBytes view, std::string_view where);

  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// In its order, until `use` returns false.
  void for_each(const std::function<bool(const ZipEntryOfDirectory&)>& use) const;

 private:
  std::uint64_t size_, begin_ = 0, bytes_ = 0, members_ = 0;
  ViewBytes view_;
  std::string_view where_;
};

inline constexpr std::uint64_t kZipLocalBytes = 30;  // of a local header, without name and extra

/// The member, with the place of its data, from its local header and the name behind that. Errors:
/// Code::damaged for a header of something else, and for data that do not lie before the directory.
[[nodiscard]] ZipMember zip_member_at(const ZipEntryOfDirectory& entry, Bytes head,
                                      std::uint64_t directory_begin, std::string_view where);

/// The name in the local header that `head` begins with, as UTF-8; empty if that is none, or if its
/// name has another length than the entry's, which has as much room as it takes there.
[[nodiscard]] std::string name_in_local_header(const ZipEntryOfDirectory& entry, Bytes head);

/// Whether a file begins like a zip archive: with its first file, or the end of an empty one.
[[nodiscard]] constexpr bool is_zip(std::string_view head) {
  return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06");
}

/// It bounds the memory that a hostile archive can ask for.
inline constexpr std::uint64_t kMostZipMembers = 1 << 17;

/// The members of a zip archive of `size` bytes, in the order of its central directory. All data
/// lie inside of the archive and do not overlap. `where` goes into the errors. Errors:
/// Code::damaged, with file and offset; Code::limit for more than kMostZipMembers;
/// Code::unsupported, by name, for archives of several disks, encrypted members, other methods
/// than stored and deflated, and for what lies behind another archive; what `view` throws.
[[nodiscard]] std::vector<ZipMember> read_zip_directory(std::uint64_t size, const ViewBytes& view,
                                                        std::string_view where);

/// The first of the members that are stored as they are whose checksum is not that of its bytes, as
/// an error with file and offset; nullopt: all agree. `progress` (may be null) is told how many
/// bytes of the archive are behind it, and how many it has. Errors: same as read_zip_directory;
/// what `progress` throws.
[[nodiscard]] std::optional<Error> first_damaged_member(
    std::uint64_t size, const ViewBytes& view, std::string_view where,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress);
[[nodiscard]] Error member_checksum_error(const ZipMember& member, std::uint32_t found,
                                          std::string_view where);

/// The error for a member whose name another one has, too: readers differ in which they take.
[[nodiscard]] Error repeated_member(const ZipMember& member, std::string_view where);

}  // namespace shale
