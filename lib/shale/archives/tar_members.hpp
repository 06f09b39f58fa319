#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "shale/archives/archive_set.hpp"
#include "shale/base/error.hpp"
#include "shale/format/source.hpp"
#include "shale/io/searchable_table.hpp"

namespace shale {

/// What an archive holds under a path.
enum class MemberType : std::uint8_t {
  file,
  folder,
  archive,  ///< an archive in the archive: a folder of what is in it
  hard_link,
  symbolic_link,
  special,
};

/// One member of an archive. A path here is its components with NUL between them: sorted bytewise,
/// what lies in a folder then comes right behind it.
struct Member {
  std::string path;
  /// Which of several with one path it is: the later ones replace those before.
  std::uint64_t number = 0;
  MemberType type = MemberType::file;
  bool is_inner = false;                ///< of an archive in the archive
  std::uint64_t offset = 0, bytes = 0;  ///< address of its data (ArchiveSet), and their number
  std::string target = {};              ///< of a link, as stored in the archive

  static auto columns(auto& row) {
    return std::tie(row.path, row.number, row.type, row.is_inner, row.offset, row.bytes,
                    row.target);
  }
};

using MemberTable = SearchableTable<Member>;

/// A name of an archive as a path of a MemberTable: empty and "." components are left out, so that
/// "" is the root. Back-slashes are slashes where a name has no others, as programs on Windows
/// write them. Errors: Code::bad_content for one that leads out of the archive, "../x" and "/x".
[[nodiscard]] std::string path_in_archive(std::string_view name);
[[nodiscard]] bool has_back_slashes_only(std::string_view name);

/// The error for the path of a folder that an archive does not have.
[[nodiscard]] Error no_folder_of_archive(const std::string& path);

/// Whether a member is read as an archive in the archive: "n01440764.tar". `name` is the last part
/// of its path. Hidden ones are not: a Mac puts "._n01440764.tar" beside each.
[[nodiscard]] bool is_tar_name(std::string_view name);
/// The error for such a member that does not begin like an archive: if it were passed over, a class
/// would be missing.
[[nodiscard]] Error not_an_archive(std::string_view path);

/// How an archive is listed.
struct MemberListing {
  const ArchiveSet::One& archive;
  /// The folders, as paths of the table, whose members "x.tar" are folders "x" if they are archives
  /// themselves, as ILSVRC2012_img_train.tar has its classes.
  std::vector<std::string> folders_of_archives = {""};
  std::uint64_t memory_bytes = 4 << 20;
  std::function<void()> stop_if_asked = [] {};
  std::string scratch_folder = {};
  /// Of a zip archive; one of leave_out lists what cannot be read, with the reason.
  OnDamage on_damage = OnDamage::stop;
  /// Called for each member, in any order: false ends the listing. Null: all are listed.
  std::function<bool(const Member& member)> wants_more = {};
};

struct ListedMembers {
  bool is_complete;  ///< false: MemberListing::wants_more ended it, and the table is of no use
  /// The archive, and each archive in it, has the mark of its end: without, it may be truncated.
  bool has_end_marks;
  /// Names with back-slashes, of an archive that was packed on Windows.
  std::uint64_t back_slashes = 0;
};

/// Adds what a tar archive holds to a table. Reads headers only, those of
/// archives in the archive with many reads in flight; where members are small, all there is.
/// Errors: those of TarReader; Code::bad_content for names that lead out of the archive, and links
/// to what is not there; Code::io.
ListedMembers list_tar(const MemberListing& listing, MemberTable& table);

}  // namespace shale
