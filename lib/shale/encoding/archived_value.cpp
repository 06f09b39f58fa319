#include "shale/encoding/archived_value.hpp"

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/inflate.hpp"
#include "shale/wire/zip_directory.hpp"

namespace shale {

void check_archived(const ArchivedFile& file, std::string_view name, std::uint32_t found) {
  if (!file.crc32 || *file.crc32 == found) return;
  const ZipMember member{
      .name = std::string(name), .data_offset = file.offset, .crc32 = *file.crc32};
  throw member_checksum_error(member, found, file.archive->file().path());
}

std::span<std::byte> unpacked_file(const PendingFile& file, std::span<std::byte> read,
                                   std::span<std::byte>& room) try {
  const std::string_view path = file.path;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (file.archived.packed_bytes > 0) {
    const std::span<std::byte> into = room.first(file.bytes);
    inflate_exactly(read, into);
    room = room.subspan(into.size());
    read = into;
  }
  if (file.archived.crc32) check_archived(file.archived, name, crc32(read));
  return read;
} catch (Error& error) {
  if (error.file().empty())
    error.at(file.archived.archive->file().path(), file.archived.offset)
        .hint("the archive changed after it was written; copy it again");
  throw;
}

}  // namespace shale
