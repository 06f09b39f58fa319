#include "shale/arrays/npz_writer.hpp"

#include "shale/arrays/file_pieces.hpp"
#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/deflate.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/zip_writer.hpp"

// The records are drawn in wire/zip_directory.hpp, which reads them. Sizes and checksums of a
// member are known behind it: its local header is patched.

namespace shale {
namespace {

ZipEntry add_member(OutputFile& archive, const NpzMember& member, bool is_deflated,
                    const std::function<void()>& stop_if_asked) {
  const InputFile file(member.path);
  ZipEntry entry{.name = member.name,
                 .is_deflated = is_deflated,
                 .is_wide = file.size() > kMostNarrowZipBytes,
                 .offset = archive.size(),
                 .bytes = file.size()};
  archive.append(zip_local_header(entry));
  const std::uint64_t begin = archive.size();
  const auto append = [&](Bytes bytes) { archive.append(bytes); };
  Deflater deflater;
  visit_file_pieces(file, 0, file.size(), [&](Bytes some) {
    entry.crc32 = crc32(some, entry.crc32);
    if (is_deflated) {
      deflater.deflate(some, append);
    } else {
      append(some);
    }
    stop_if_asked();
  });
  if (is_deflated) deflater.finish(append);
  entry.stored = archive.size() - begin;
  archive.patch(entry.offset, zip_local_header(entry));
  return entry;
}

}  // namespace

void write_npz(OutputFile& archive, const std::vector<NpzMember>& members, bool is_deflated,
               const std::function<void()>& stop_if_asked) {
  ByteWriter directory;
  for (const NpzMember& member : members) {
    append_zip_directory_entry(directory, add_member(archive, member, is_deflated, stop_if_asked));
    remove_file(member.path);
  }
  const std::uint64_t begin = archive.size(), bytes = directory.size();
  append_zip_end(directory, members.size(), begin, bytes);
  archive.append(directory.bytes());
}

}  // namespace shale
